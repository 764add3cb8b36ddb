// Looks up where a thread is: its function and lines.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "evidence/device_code.h"
#include "evidence/testimony.h"

namespace cudadiag::evidence {

// Returns the address of a thread's next instruction; nullopt if the address in the dump does not match its code. Older
// drivers store a host address in the lane. In this case, returns the grid's entry plus the lane's offset, if that is
// inside a kernel.
std::optional<std::uint64_t> standing_at(const DeviceCode& code, const Lane& lane, const Grid* grid);

// Sets the function, offset and lines of each place. Looks them up at the address that is paired with the place.
void resolve(const DeviceCode& code, const std::vector<std::pair<CodePlace*, std::uint64_t>>& places);

}  // namespace cudadiag::evidence
