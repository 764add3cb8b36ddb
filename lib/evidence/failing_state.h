// The registers of all threads that may have failed, for computing the address of the failed access. The GPU saved the
// registers when it stopped, some instructions after the failing one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "evidence/device_code.h"
#include "evidence/dump.h"
#include "evidence/kernel_facts.h"

namespace cudadiag::evidence {

struct FailingLane {
  std::uint32_t lane = 0;
  Dim3 thread{};
  std::optional<std::uint64_t> stands;  // offset of the thread's next instruction in `around`
  std::vector<std::uint32_t> registers;
  std::optional<std::uint32_t> predicates;  // one bit per predicate, set if it is true
};

struct FailingWarp {
  Dim3 block{};
  bool together = false;           // all threads of the warp are at one instruction
  std::uint32_t shared_bytes = 0;  // shared memory of the block, including what the system reserves; 0 if unknown
  std::vector<std::uint32_t> uniform_registers;
  std::optional<std::uint32_t> uniform_predicates;
  std::vector<FailingLane> lanes;
};

struct FailingState {
  // Threads beyond this limit are only counted, in `left_out`.
  static constexpr std::size_t kMostLanes = 4096;

  KernelFacts facts;
  std::string parameters;  // the bytes of the parameters; empty if unknown
  std::uint64_t shared_window = 0, local_window = 0;
  bool clusters = false;           // the launch groups blocks into clusters
  std::vector<FailingWarp> warps;  // sorted by block and thread; empty if the warps have exited
  std::uint64_t left_out = 0;
};

// Returns the state of those threads in `lanes` that have the same grid, exception and instruction as `first`. The
// hardware reports whole warps, so the result can include threads that have not failed. Offsets in the result are
// relative to the start of `around`.
FailingState failing_state(const Dump& dump, const DeviceCode& code, const std::vector<const Lane*>& lanes,
                           const Lane& first, const Function& around);

}  // namespace cudadiag::evidence
