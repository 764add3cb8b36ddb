// Whether the CUDA driver can load the recorder into a program.
#pragma once

#include <filesystem>

#include "session/session.h"

namespace cudadiag::supervise {

// The recorder, which was loaded into this process to see that it can be: it stays there and does nothing.
base::Result<std::filesystem::path> loadable_recorder();

}  // namespace cudadiag::supervise
