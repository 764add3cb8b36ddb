// Reads what the recorder wrote of a launch (wire/rerun/saved_launch.h). The program under test can write anything there.
#pragma once

#include <cstddef>
#include <span>

#include "base/result.h"
#include "replay/saved_launch.h"

namespace cudadiag::replay {

// Fails for a launch that did not fail.
base::Result<SavedLaunch> read_description(std::span<const std::byte> bytes);

// A clause about what makes the launch impossible or unsafe to read; empty: nothing.
std::string flaw_of(const SavedLaunch& launch);

}  // namespace cudadiag::replay
