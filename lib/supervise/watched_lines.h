// Lines of Python that the user watches in the first run, FILE:LINE each, without tabs and newlines: what the hook is
// asked for, and whether they are what was meant.
#pragma once

#include <string>
#include <vector>

#include "session/session.h"

namespace cudadiag::supervise {

// wire/rerun/values.h; empty: there are none.
std::string watched_lines(const std::vector<std::string>& lines);

// A sentence for each line that cannot be reached with the files that are here. The program may still create them.
std::vector<std::string> doubtful_lines(const std::vector<std::string>& lines, const std::vector<std::string>& command);

// A sentence for each line that no process of the run reached, or that had nothing to show.
std::vector<std::string> silent_lines(const std::vector<std::string>& lines, const session::Session& session);

}  // namespace cudadiag::supervise
