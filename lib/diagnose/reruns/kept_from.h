// Describes what an isolated rerun was kept from doing.
#pragma once

#include <string>
#include <vector>

#include "session/session.h"

namespace cudadiag::diagnose {

// "writing ckpt/ and 2 other things": names the last attempt, which is likely the one that ended the rerun. Paths
// inside `directory` are shown relative to it. Empty if it was kept from nothing.
std::string kept_from_text(const std::vector<session::KeptFrom>& kept, const std::string& directory);

}  // namespace cudadiag::diagnose
