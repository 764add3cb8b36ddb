// Lines of Python that the user watches in the first run, FILE:LINE each, without tabs and newlines: what the hook is
// asked for, and whether they are what was meant.
#pragma once

#include <string>
#include <vector>

#include "session/session.h"

namespace cudadiag::command {

// wire/values.h; empty: there are none.
std::string watched_lines(const std::vector<std::string>& lines);

// Of lines that cannot be reached by what lies here, a sentence each. The program may still bring them about.
std::vector<std::string> doubtful_lines(const std::vector<std::string>& lines, const std::vector<std::string>& command);

// Of lines that no process of the run came to, or that had nothing to show, a sentence each.
std::vector<std::string> silent_lines(const std::vector<std::string>& lines, const session::Session& session);

}  // namespace cudadiag::command
