// Fuzzes the search for assertions in a program's output.
#include "evidence/tool_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto found = cudadiag::evidence::assertions_in({reinterpret_cast<const char*>(data), size});
  if (found.size() > cudadiag::evidence::kMostAssertions) __builtin_trap();
  return 0;
}
