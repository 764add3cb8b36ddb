// The Python lines that the user watches in the first run, as FILE:LINE without tabs and newlines: what to ask the hook
// for, and warnings about lines that may be mistakes.
#pragma once

#include <string>
#include <vector>

#include "session/session.h"

namespace cudadiag::supervise {

// Returns the text of wire/rerun/values.h; empty if there are no lines.
std::string watched_lines(const std::vector<std::string>& lines);

// Returns a sentence for each line that is in no file at present. The program may still create the file.
std::vector<std::string> doubtful_lines(const std::vector<std::string>& lines, const std::vector<std::string>& command);

// Returns a sentence for each line that no process of the run reached, or that had no values.
std::vector<std::string> silent_lines(const std::vector<std::string>& lines, const session::Session& session);

}  // namespace cudadiag::supervise
