#include "symbolize/demangle.h"

#include <algorithm>

namespace cudadiag::symbolize {
namespace {

constexpr std::string_view kCloneSuffixes[] = {".cold",  ".part.",     ".constprop.", ".isra.",
                                               ".llvm.", ".lto_priv.", ".localalias"};

}  // namespace

std::string_view without_clone_suffix(std::string_view symbol) {
  std::size_t end = symbol.size();
  for (const auto suffix : kCloneSuffixes) end = std::min(end, symbol.find(suffix));
  return symbol.substr(0, end);
}

}  // namespace cudadiag::symbolize
