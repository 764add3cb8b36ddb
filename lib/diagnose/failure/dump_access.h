// Finds the access that failed, and where it lies, from the failing threads in a GPU core dump.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyse/analysis.h"
#include "analyse/operation_arguments.h"
#include "diagnose/facts/report_model.h"
#include "diagnose/lines.h"
#include "evidence/core_facts.h"
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

// Computes the access that failed from the failing threads in a GPU core dump and the kernel's code. Needs no
// recording. `code` is nvdisasm's text of the kernel. Returns nullopt if cudadiag does not understand the failing
// instruction.
std::optional<DumpAccess> dump_access(const evidence::DumpedFailure& failure, const std::string& code);

// Returns the parameter that must be the pointer; null if none can be, or if several can.
const BaseParameter* only_parameter(const DumpAccess& access);

// Returns lines for `cudadiag core`, such as "load of 4 bytes at 0x8021…, 1.0 TiB after parameter 1 (0x7f21…), block
// 0,0,0 thread 0,0,0".
std::vector<std::string> access_lines(const DumpAccess& access);

// `argument` is the recorded launch parameter from which the address was computed; null if unknown. `all_known`: every
// allocation of the recorded process is known, so an address outside all of them was never allocated.
Access recorded_access(const DumpAccess& dump, const analyse::OperationArgument* argument, bool all_known);

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

}  // namespace cudadiag::diagnose
