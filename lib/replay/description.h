// Reads the recorder's description of a launch (wire/rerun/saved_launch.h). The target can write anything there.
#pragma once

#include <cstddef>
#include <span>

#include "base/result.h"
#include "replay/saved_launch.h"

namespace cudadiag::replay {

// Returns an error for a launch that did not fail.
base::Result<SavedLaunch> read_description(std::span<const std::byte> bytes);

// A clause on what makes the launch impossible or unsafe to read; empty if nothing does.
std::string flaw_of(const SavedLaunch& launch);

}  // namespace cudadiag::replay
