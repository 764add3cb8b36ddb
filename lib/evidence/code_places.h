// Looks up where a thread is: its function and lines.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "evidence/device_code.h"
#include "evidence/testimony.h"

namespace cudadiag::evidence {

// Returns the address of the instruction that a thread is at; nullopt if the dump's address does not fit its code.
// Older drivers store a host address in the lane. We then use the entry of the grid plus the lane's offset, if that
// lies in a kernel.
std::optional<std::uint64_t> standing_at(const DeviceCode& code, const Lane& lane, const Grid* grid);

// Fills in function, offset and lines of each place, looked up at the paired address.
void resolve(const DeviceCode& code, const std::vector<std::pair<CodePlace*, std::uint64_t>>& places);

}  // namespace cudadiag::evidence
