// Finds the access that failed from the failing threads in a GPU core dump. Needs no recording.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "evidence/core_facts.h"
#include "sass/failing_address.h"
#include "sass/kernel_accesses.h"

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

// Computes the access that failed from the dump and the kernel's code. `code` is nvdisasm's text of the kernel. Returns
// nullopt if cudadiag does not understand the failing instruction.
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

}  // namespace cudadiag::diagnose
