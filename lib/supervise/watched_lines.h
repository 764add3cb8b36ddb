// Prepares and checks the Python lines that the user watches in the first run. A line is FILE:LINE, without tabs and
// newlines.
#pragma once

#include <string>
#include <vector>

#include "session/session.h"

namespace cudadiag::supervise {

// Returns the request to the hook, in the format of wire/rerun/values.h; empty if there are no lines.
std::string watched_lines(const std::vector<std::string>& lines);

// Returns a warning for each line that does not exist yet. The program may still create the file.
std::vector<std::string> doubtful_lines(const std::vector<std::string>& lines, const std::vector<std::string>& command);

// Returns a sentence for each line that no process of the run reached, and for each line that used no values.
std::vector<std::string> silent_lines(const std::vector<std::string>& lines, const session::Session& session);

}  // namespace cudadiag::supervise
