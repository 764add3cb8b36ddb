// The place of a thread, as a function and lines.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "evidence/device_code.h"
#include "evidence/testimony.h"

namespace cudadiag::evidence {

// The address of the instruction at which a thread is. Empty if the dump's address does not fit its own code. Older
// drivers put an address of the host into the lane; the offset beside it decides: it must lead to the same function of
// the GPU.
std::optional<std::uint64_t> standing_at(const DeviceCode& code, const Lane& lane, const Grid* grid);

// Fills in function, offset and lines of each place, looked up at the address beside it.
void resolve(const DeviceCode& code, const std::vector<std::pair<CodePlace*, std::uint64_t>>& places);

}  // namespace cudadiag::evidence
