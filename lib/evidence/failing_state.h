// The hardware state from which an instruction's address can be computed: the registers of every thread that may have
// failed. They are from the moment at which the GPU stopped, some instructions after the failing one.
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
  std::optional<std::uint64_t> stands;  // the offset in `around` of the instruction that is next
  std::vector<std::uint32_t> registers;
  std::optional<std::uint32_t> predicates;  // a bit for each that is true
};

struct FailingWarp {
  Dim3 block{};
  bool together = false;           // all its threads are at one instruction
  std::uint32_t shared_bytes = 0;  // of the block, those of the system included; 0: not known
  std::vector<std::uint32_t> uniform_registers;
  std::optional<std::uint32_t> uniform_predicates;
  std::vector<FailingLane> lanes;
};

struct FailingState {
  // Threads beyond these are counted and left out.
  static constexpr std::size_t kMostLanes = 4096;

  KernelFacts facts;       // of the kernel
  std::string parameters;  // their bytes; empty: not known
  std::uint64_t shared_window = 0, local_window = 0;
  bool clusters = false;           // several blocks form a cluster
  std::vector<FailingWarp> warps;  // in the order of blocks and threads; none once they have exited
  std::uint64_t left_out = 0;
};

// Those of `lanes` that failed together with `first`: in the same grid, by the same exception, at the same instruction.
// The hardware names a whole warp: a thread among its lanes may have done nothing wrong. `around`: the code in which
// the places of threads are counted.
FailingState failing_state(const Dump& dump, const DeviceCode& code, const std::vector<const Lane*>& lanes,
                           const Lane& first, const Function& around);

}  // namespace cudadiag::evidence
