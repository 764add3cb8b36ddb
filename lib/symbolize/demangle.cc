#include "symbolize/demangle.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

namespace cudadiag::symbolize {
namespace {

// The demangler's work can grow exponentially with a crafted name; real ones of heavy templates stay below this.
constexpr std::size_t kLongestName = 16u << 10;

constexpr std::string_view kCloneSuffixes[] = {".cold",  ".part.",     ".constprop.", ".isra.",
                                               ".llvm.", ".lto_priv.", ".localalias"};

}  // namespace

std::string demangle(std::string_view mangled) {
  const std::string name(mangled);
  if (!name.starts_with("_Z") || name.size() > kLongestName) return name;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                         &std::free);
  return status == 0 && text ? std::string(text.get()) : name;
}

std::string_view without_clone_suffix(std::string_view symbol) {
  std::size_t end = symbol.size();
  for (const auto suffix : kCloneSuffixes) end = std::min(end, symbol.find(suffix));
  return symbol.substr(0, end);
}

}  // namespace cudadiag::symbolize
