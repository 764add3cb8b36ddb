// Checks the first word of the command line, which must be a subcommand.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace cudadiag::command {

// Returns an error message if the first word is wrong; empty if it is right. CLI11's own message does not name the
// word. Names cudadiag's command for a verb of another tool.
std::string wrong_first_word(const CLI::App& app, const std::vector<std::string>& words);

// Turns "help run" into "run --help", and "top" into "status --follow".
std::vector<std::string> in_current_words(std::vector<std::string> words);

}  // namespace cudadiag::command
