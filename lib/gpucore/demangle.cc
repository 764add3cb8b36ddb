#include "gpucore/demangle.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace cudadiag::gpucore {

std::string demangle(const std::string& mangled) {
  // The demangler's work can grow exponentially with a crafted name; real ones of heavy templates stay below this.
  constexpr std::size_t kLongestName = 16u << 10;
  if (!mangled.starts_with("_Z") || mangled.size() > kLongestName) return mangled;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && text ? std::string(text.get()) : mangled;
}

}  // namespace cudadiag::gpucore
