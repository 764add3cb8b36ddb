// The Python lines that the user watches in the first run, as FILE:LINE without tabs and newlines. Contains the request
// to the hook, and warnings about lines that may be mistakes.
#pragma once

#include <string>
#include <vector>

#include "session/session.h"

namespace cudadiag::supervise {

// Returns the text of wire/rerun/values.h; empty if there are no lines.
std::string watched_lines(const std::vector<std::string>& lines);

// A sentence for each line that does not exist in any file now. The program may still create such a file.
std::vector<std::string> doubtful_lines(const std::vector<std::string>& lines, const std::vector<std::string>& command);

// A sentence for each line that no process of the run reached, or that had no values.
std::vector<std::string> silent_lines(const std::vector<std::string>& lines, const session::Session& session);

}  // namespace cudadiag::supervise
