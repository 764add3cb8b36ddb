// Reads the recorder's description of a launch (wire/rerun/saved_launch.h). The description is not trusted, because the
// target may have written anything there.
#pragma once

#include <cstddef>
#include <span>

#include "base/result.h"
#include "replay/saved_launch.h"

namespace cudadiag::replay {

// Returns an error for a launch that did not fail.
base::Result<SavedLaunch> read_description(std::span<const std::byte> bytes);

// Returns a clause that says what is wrong in the launch's description.
std::string flaw_of(const SavedLaunch& launch);

}  // namespace cudadiag::replay
