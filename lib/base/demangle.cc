// Demangles C++ function names from object files.
#include <libiberty/demangle.h>

#include <algorithm>
#include <csetjmp>

#include "base/text.h"

namespace cudadiag::base {
namespace {

constexpr std::string_view kCloneSuffixes[] = {".cold",  ".part.",     ".constprop.", ".isra.",
                                               ".llvm.", ".lto_priv.", ".localalias"};

// A crafted name of 300 bytes can expand to gigabytes. A deeply nested name costs 250 bytes of stack for each byte of
// the name. Real names stay below these limits, even in template-heavy code.
constexpr std::size_t kLongestName = 8u << 10, kLongestText = 64u << 10;

struct Text {
  std::string text;
  std::jmp_buf full;
};

void add(const char* part, std::size_t size, void* to) {
  auto& out = *static_cast<Text*>(to);
  // longjmp is the only way to stop the demangler. It skips only C frames, which have nothing to free.
  if (size > kLongestText - out.text.size()) std::longjmp(out.full, 1);
  out.text.append(part, size);
}

bool print(const char* mangled, Text& out) {
  if (setjmp(out.full) != 0) return false;
  return cplus_demangle_v3_callback(mangled, DMGL_PARAMS | DMGL_TYPES | DMGL_NO_RECURSE_LIMIT, add, &out) != 0;
}

}  // namespace

std::string demangle(std::string_view mangled) {
  std::string name(mangled);
  if (!name.starts_with("_Z") || name.size() > kLongestName) return name;
  Text out;
  return print(name.c_str(), out) ? out.text : name;
}

std::string_view without_clone_suffix(std::string_view symbol) {
  std::size_t end = symbol.size();
  for (const auto suffix : kCloneSuffixes) end = std::min(end, symbol.find(suffix));
  return symbol.substr(0, end);
}

}  // namespace cudadiag::base
