// Finds the access that failed in the first run, without a core dump: from the code of the only kernel that can have
// failed, its grid and its parameters. An access counts only if threads make it whatever the memory contains.
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

// A word of 8 bytes among the parameters of a launch.
struct ParameterWord {
  std::uint32_t offset = 0;  // among all parameters
  std::uint64_t value = 0;
  analyse::Whereabouts where{};
  bool out_of_reach = false;                 // memory of another device, to which the kernel's had no access
  std::optional<std::uint32_t> parameter{};  // its number, from 1
  std::uint32_t byte = 0;                    // of the word in it
};

struct FailedLaunch {
  std::uint32_t error = 0;
  std::vector<ParameterWord> words;
  const analyse::AllocationMap& map;  // when it was launched
  bool all_known = false;             // every allocation of its process is
};

struct AccessByCode {
  Access access;
  const ParameterWord* word = nullptr;  // of the launch
};

// Whether the error (of the driver) is about an address: illegal, misaligned or of another memory space.
bool is_address_error(std::uint32_t code);

// Returns the launch of the only kernel that can have failed at an address; null if there is none.
const session::Operation* only_kernel(const analyse::Failure& failure);

// Returns the access that is certain to fail; nullopt if there is none, or if accesses through several words fail.
std::optional<AccessByCode> access_by_code(const sass::CertainAccesses& accesses, const FailedLaunch& launch);

// Completes findings whose failing address no core dump has. `failures` are those of the findings, in their order.
void add_access_by_code(Diagnosis& report, const session::Session& session,
                        const std::vector<const analyse::Failure*>& failures, const ResolveSite& resolve);

}  // namespace cudadiag::diagnose
