// Fuzzes the reader of nvdisasm's text, and the code that computes a failing address from it. The first four bytes say
// where the kernel's parameters are, which of them are 0, and which instruction fails.
#include <string>
#include <string_view>

#include "sass/byte_ranges.h"
#include "sass/failing_address.h"
#include "sass/kernel_accesses.h"

using namespace cudadiag::sass;

namespace {

// Returns a thread stopped at offset `stands`. If its registers are unknown, every value has to be computed.
LaneState lane_at(std::uint32_t stands, bool known) {
  LaneState lane;
  lane.stands = stands;
  lane.lane = 31;
  lane.thread = {31, 1, 0};
  lane.block = {0xffffffff, 0, 2};
  if (!known) return lane;
  lane.registers.assign(32, 0x1000);
  lane.uniform_registers.assign(64, 0xffffffff);
  lane.predicates = 0x55;
  lane.uniform_predicates = 0x2;
  return lane;
}

LaunchState launch_of(std::string_view bytes) {
  LaunchState launch;
  launch.parameters = std::string(bytes.substr(0, 64));
  launch.grid = {4, 1, 3};
  launch.block = {32, 2, 1};
  launch.clusters = bytes.size() % 2 == 1;
  return launch;
}

void compute(const std::string& text, ParameterBank bank, std::uint32_t chosen, const LaunchState& launch, bool known) {
  for (const std::uint32_t offset : {chosen, 0x10u, 0x40u}) {
    FailingAddress address(text, bank, offset, launch);
    if (address.known()) address.bytes();
    for (std::uint32_t stands = offset; address.known() && stands < offset + 0x100; stands += 0x10) {
      const LaneState lane = lane_at(stands, known);
      address.of(lane);
      address.base(&lane);
    }
    address.base();
    address.unknown_opcodes();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 4) return 0;
  const ParameterBank bank{static_cast<std::uint32_t>(data[0] | data[1] << 8),
                           static_cast<std::uint32_t>(data[2] | data[3] << 8)};
  const Calls calls = data[3] % 2 == 0 ? Calls::anything : Calls::harmless;
  const ZeroWords zeros = data[2] * 0x01010101u;
  const std::string text(reinterpret_cast<const char*>(data + 4), size - 4);
  const KernelAccesses accesses = read_sass(text, bank, calls, zeros);
  for (const std::uint32_t parameter : {0, 8}) accesses.mode(parameter);
  const ByteRanges ranges(text, bank, calls);
  ranges.of({{4, 1, 3}, {32, 2, 1}, text.substr(0, 64), {0, 8}});
  const std::uint32_t offset = data[2] * 0x10u;
  compute(text, bank, offset, {}, true);
  compute(text, bank, offset, launch_of(text), false);
  return 0;
}
