// Feeds the reader of nvdisasm's text. The first four bytes say where the kernel's parameters lie, and which of them
// are 0.
#include "sass/sass.h"

#include "sass/failing_address.h"

using namespace cudadiag::sass;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 4) return 0;
  const ParameterBank bank{static_cast<std::uint32_t>(data[0] | data[1] << 8),
                           static_cast<std::uint32_t>(data[2] | data[3] << 8)};
  const Calls calls = data[3] % 2 == 0 ? Calls::anything : Calls::harmless;
  const ZeroWords zeros = data[2] * 0x01010101u;
  const KernelAccesses accesses = read_sass({reinterpret_cast<const char*>(data + 4), size - 4}, bank, calls, zeros);
  for (const std::uint32_t parameter : {0, 8}) accesses.mode(parameter);
  const std::string text(reinterpret_cast<const char*>(data + 4), size - 4);
  LaneState lane;
  lane.registers.assign(32, 0x1000);
  for (const std::uint32_t offset : {0x0u, 0x10u, 0x40u}) {
    FailingAddress address(text, bank, offset, {});
    for (lane.stands = 0; address.known() && lane.stands < 0x100; lane.stands += 0x10) address.of(lane);
    address.base();
  }
  return 0;
}
