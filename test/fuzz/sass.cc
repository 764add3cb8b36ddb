// Feeds the reader of nvdisasm's text. The first four bytes say where the kernel's parameters lie, and which of them
// are 0.
#include "sass/sass.h"

using namespace cudadiag::sass;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 4) return 0;
  const ParameterBank bank{static_cast<std::uint32_t>(data[0] | data[1] << 8),
                           static_cast<std::uint32_t>(data[2] | data[3] << 8)};
  const Calls calls = data[3] % 2 == 0 ? Calls::anything : Calls::harmless;
  const ZeroWords zeros = data[2] * 0x01010101u;
  const KernelAccesses accesses = read_sass({reinterpret_cast<const char*>(data + 4), size - 4}, bank, calls, zeros);
  for (const std::uint32_t parameter : {0, 8}) accesses.mode(parameter);
  return 0;
}
