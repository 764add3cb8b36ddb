// Describes what isolation kept a rerun from doing.
#pragma once

#include <string>
#include <vector>

#include "session/session.h"

namespace cudadiag::diagnose {

// Returns text such as "writing ckpt/ and 2 other things". Names the last attempt, which probably ended the rerun.
// Shows paths inside `directory` relative to it. Empty if `kept` is empty.
std::string kept_from_text(const std::vector<session::KeptFrom>& kept, const std::string& directory);

}  // namespace cudadiag::diagnose
