// The things that an isolated rerun was kept from, in words.
#pragma once

#include <string>
#include <vector>

#include "session/session.h"

namespace cudadiag::diagnose {

// "writing ckpt/ and 2 other things": the last one that it tried, for what it ended at. Paths are relative to
// `directory` where they lie in it. Empty: it was kept from nothing.
std::string kept_from_text(const std::vector<session::KeptFrom>& kept, const std::string& directory);

}  // namespace cudadiag::diagnose
