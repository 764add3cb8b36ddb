// Looks up where a thread is: its function and lines.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "evidence/device_code.h"
#include "evidence/testimony.h"

namespace cudadiag::evidence {

// Returns the address of a thread's next instruction. Returns nullopt if the thread's address and its offset in the
// dump do not match. Older drivers store a host address as the thread's address. The result is then the grid's entry
// plus the offset, if a kernel contains that address.
std::optional<std::uint64_t> standing_at(const DeviceCode& code, const Lane& lane, const Grid* grid);

// For each pair, looks up the address and sets the function, offset and lines of the place.
void resolve(const DeviceCode& code, const std::vector<std::pair<CodePlace*, std::uint64_t>>& places);

}  // namespace cudadiag::evidence
