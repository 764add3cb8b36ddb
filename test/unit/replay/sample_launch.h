#pragma once

#include "replay/saved_launch.h"

namespace cudadiag::test {

// Returns a launch that has a value in every field.
replay::SavedLaunch sample_launch();

}  // namespace cudadiag::test
