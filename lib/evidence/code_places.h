// Looks up a thread's position in the code: its function and lines.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "evidence/device_code.h"
#include "evidence/testimony.h"

namespace cudadiag::evidence {

// Returns the address of a thread's next instruction. Returns nullopt if the dump's address and offset for the thread
// contradict each other. Older drivers store a host address. For these, returns the grid's entry plus the offset, if a
// kernel contains this sum.
std::optional<std::uint64_t> standing_at(const DeviceCode& code, const Lane& lane, const Grid* grid);

// Looks up each address, and fills in the function, offset and lines of the place that is paired with the address.
void resolve(const DeviceCode& code, const std::vector<std::pair<CodePlace*, std::uint64_t>>& places);

}  // namespace cudadiag::evidence
