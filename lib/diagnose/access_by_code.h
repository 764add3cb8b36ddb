// Finds the access that failed in the first run, without a core dump. Uses the code, grid and parameters of the kernel.
// Works only if a single kernel can have failed. Considers only accesses that the kernel performs regardless of what
// the memory contains.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analyse/allocations.h"
#include "diagnose/diagnosis.h"
#include "diagnose/operation_memory.h"
#include "sass/byte_ranges.h"
#include "session/session.h"

namespace cudadiag::diagnose {

// An 8-byte word among the parameters of a launch.
struct ParameterWord {
  std::uint32_t offset = 0;  // from the beginning of the first parameter
  std::uint64_t value = 0;
  analyse::Whereabouts where{};
  bool out_of_reach = false;                 // points to memory that the kernel's device could not access
  std::optional<std::uint32_t> parameter{};  // the parameter's number, from 1
  std::uint32_t byte = 0;                    // offset of the word in the parameter
};

struct FailedLaunch {
  std::uint32_t error = 0;
  std::vector<ParameterWord> words;
  const analyse::AllocationMap& map;  // the allocations at the time of the launch
  bool all_known = false;             // the map contains every allocation of the process
};

struct AccessByCode {
  Access access;
  const ParameterWord* word = nullptr;  // one of FailedLaunch::words
};

// Returns true if this driver error reports a bad address: illegal, misaligned, or in the wrong memory space.
bool is_address_error(std::uint32_t code);

// Returns the kernel launch if `failure` is an address error with a single candidate; null otherwise.
const session::Operation* only_kernel(const analyse::Failure& failure);

// Returns the access that must have failed. Returns nullopt if no access is certain to have failed, or if the accesses
// that are certain to have failed use different parameter words.
std::optional<AccessByCode> access_by_code(const sass::CertainAccesses& accesses, const FailedLaunch& launch);

// Adds the failed access to each finding for which no core dump shows the address. `failures` has one entry for each
// finding, in the same order.
void add_access_by_code(Diagnosis& report, const session::Session& session,
                        const std::vector<const analyse::Failure*>& failures, const ResolveSite& resolve);

}  // namespace cudadiag::diagnose
