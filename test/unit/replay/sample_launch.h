#pragma once

#include "replay/saved_launch.h"

namespace cudadiag::test {

// With something in every field.
replay::SavedLaunch sample_launch();

}  // namespace cudadiag::test
