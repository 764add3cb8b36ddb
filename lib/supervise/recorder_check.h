// Checks whether the CUDA driver can load the recorder into a program.
#pragma once

#include <filesystem>

#include "session/session.h"

namespace cudadiag::supervise {

// Returns the path of the recorder, after loading it into this process as a test. It stays loaded, but does nothing.
base::Result<std::filesystem::path> loadable_recorder();

}  // namespace cudadiag::supervise
