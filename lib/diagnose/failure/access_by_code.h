// Finds the access that failed in the first run, without a core dump. Uses the code, grid and parameters of the kernel.
// Works only if a single kernel can have failed, perhaps in a graph. Considers only accesses that the kernel performs
// regardless of what the memory contains. If a recorded copy filled a table of addresses, its contents are known. In
// the same way, finds kernels that cannot have failed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyse/analysis.h"
#include "analyse/operation_arguments.h"
#include "analyse/recorded_memory.h"
#include "diagnose/facts/report_model.h"
#include "diagnose/line_resolver.h"
#include "sass/byte_ranges.h"
#include "session/session.h"

namespace cudadiag::diagnose {

struct FailedLaunch {
  std::uint32_t error = 0;
  std::vector<analyse::OperationArgument> words;  // every 8-byte word of the parameters and of memory with known
                                                  // contents; `pointer` is its value
  const analyse::AllocationMap& map;              // the allocations at the time of the launch
  bool all_known = false;                         // the map contains every allocation of the process
  std::uint32_t stream = wire::allocation::kNone;
  bool reads_host_memory = false;  // the GPU can access all memory of the process
};

struct AccessByCode {
  Access access;
  // One of FailedLaunch::words each; null if unknown. `table`: the pointer to memory from which the kernel read the
  // failing pointer.
  const analyse::OperationArgument* through = nullptr;
  const analyse::OperationArgument* table = nullptr;
};

// Returns the access that must have failed. Returns nullopt if no access is certain to have failed, or if the accesses
// that are certain to have failed use different parameter words.
std::optional<AccessByCode> access_by_code(const sass::CertainAccesses& accesses, const FailedLaunch& launch);

// Removes candidates that cannot have failed, because their code uses only memory that was live. Leaves at least one,
// and those with the kernel that a core dump names (`dumped`).
void drop_harmless(std::vector<analyse::Failure>& failures, const session::Session& session, const std::string& dumped);

// Adds the failed access to each finding for which no core dump shows the address. `failures` has one entry for each
// finding, in the same order.
void add_access_by_code(Diagnosis& report, const session::Session& session,
                        const std::vector<const analyse::Failure*>& failures, const ResolveSite& resolve);

}  // namespace cudadiag::diagnose
