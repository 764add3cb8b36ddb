// Checks the first word of the command line, which must be a subcommand.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace cudadiag::command {

// Returns an error message if the first word is wrong; empty if it is right. CLI11's own message does not name the
// word.
std::string wrong_first_word(const CLI::App& app, const std::vector<std::string>& words);

// Turns "help run" into "run --help".
std::vector<std::string> with_help_at_the_end(std::vector<std::string> words);

}  // namespace cudadiag::command
