// Finds the access that failed: from the failing threads in a GPU core dump, in the memory that was recorded, or from
// the kernel's code.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyse/analysis.h"
#include "analyse/operation_arguments.h"
#include "analyse/recorded_memory.h"
#include "diagnose/facts/address_relation.h"
#include "diagnose/facts/report_model.h"
#include "diagnose/line_resolver.h"
#include "evidence/core_facts.h"
#include "sass/byte_ranges.h"
#include "sass/failing_address.h"
#include "sass/kernel_accesses.h"
#include "session/session.h"
#include "symbolize/tool_results.h"

namespace cudadiag::diagnose {

struct LaneAddress {
  std::array<std::uint32_t, 3> block{}, thread{};
  std::uint64_t address = 0;  // for shared and local memory, an offset in that memory
};

// One of the parameter words that add up to the address, or the address of a variable.
struct BaseParameter {
  std::uint32_t word = 0;                // byte offset from the beginning of the parameters, or a sass::kOfVariable
  std::optional<std::uint32_t> number;   // number of the parameter, from 1
  std::uint32_t byte = 0;                // byte offset of the word in the parameter
  std::optional<std::uint64_t> value{};  // nullopt if the dump does not contain it
  std::optional<evidence::Variable> variable{};
};

struct DumpAccess {
  sass::AccessKind kind = sass::AccessKind::load;
  sass::Space space = sass::Space::global;
  std::uint32_t bytes = 0;  // 0 if unknown
  bool misaligned = false;  // the exception is a misaligned address
  // Sorted by block and thread. The hardware reports whole warps, so some of these accesses may be valid.
  std::vector<LaneAddress> lanes{};
  std::uint64_t unknown = 0;                // number of further threads whose addresses cannot be computed
  std::uint64_t low = 0;                    // how many of these addresses are known to be too low for CUDA's memory
  bool from_memory = false;                 // the address is a pointer that the kernel read from global memory
  std::optional<BaseParameter> table{};     // the only parameter that leads to the memory of that pointer
  std::vector<BaseParameter> parameters{};  // several if the address is a pointer plus offsets in bytes
  std::uint32_t shared_bytes = 0;           // shared memory of a block, including the system's part; 0 if unknown
};

// Computes the access that failed from the dump and the kernel's code, without a recording. `code` is nvdisasm's text
// of the kernel. Returns nullopt if cudadiag does not understand the failing instruction.
std::optional<DumpAccess> dump_access(const evidence::DumpedFailure& failure, const std::string& code);

// Returns a name such as "parameter 1", "parameter 2 at byte 16" or "table (a __device__ variable)".
std::string parameter_words(const BaseParameter& parameter);

// Removes the threads for which valid(LaneAddress) is true: their accesses succeed. Keeps all of them if none remains.
template <typename Valid>
void keep_failing(DumpAccess& access, Valid valid) {
  const auto succeeded = static_cast<std::uint64_t>(std::ranges::count_if(access.lanes, valid));
  if (succeeded == access.lanes.size()) return;
  std::erase_if(access.lanes, valid);
  access.unknown += succeeded;
}

// Returns the parameter that must be the pointer; null if none can be, or if several can.
const BaseParameter* only_parameter(const DumpAccess& access);

// Returns lines for `cudadiag core`, such as "load of 4 bytes at 0x8021…, 1.0 TiB after parameter 1 (0x7f21…), block
// 0,0,0 thread 0,0,0".
std::vector<std::string> access_lines(const DumpAccess& access);

// `argument` is the recorded launch parameter from which the address was computed; null if unknown. `memory`
// describes the recorded process.
Access recorded_access(const DumpAccess& dump, const analyse::OperationArgument* argument, const GpuMemory& memory);

// Sets the access of the finding whose `device` describes the failure in the dump. `failures` has one entry for each
// finding.
void add_access(Diagnosis& report, const std::vector<const analyse::Failure*>& failures,
                const symbolize::ToolResults& results, const ResolveSite& resolve);

// Returns true if the finding is a failed access through a parameter of its kernel, and its address is unknown.
bool lacks_address(const Finding& finding);

// Sets the access of the finding whose kernel failed in a replay under compute-sanitizer, if its address is still
// unknown.
void add_replayed_access(Diagnosis& report, const session::Session& session,
                         const std::vector<const analyse::Failure*>& failures, const ResolveSite& resolve);

// Without a core dump, the code, grid and parameters of the kernel may show the access that failed in the first run. It
// works only if a single kernel can have failed, perhaps in a graph. Considers only accesses that the kernel performs
// regardless of what the memory contains. If a recorded copy filled a table of addresses, its contents are known.
struct FailedLaunch {
  std::uint32_t error = 0;
  std::vector<analyse::OperationArgument> words;  // every 8-byte word of the parameters and of memory with known
                                                  // contents; `pointer` is its value
  const analyse::AllocationMap& map;              // the allocations at the time of the launch
  GpuMemory memory;
  std::uint32_t stream = wire::allocation::kNone;
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
