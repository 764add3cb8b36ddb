// The first word of the command line, which names a subcommand.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace cudadiag::command {

// What is wrong with it; empty: nothing is. The library would only say that some command is needed.
std::string wrong_first_word(const CLI::App& app, const std::vector<std::string>& words);

// "help run" is "run --help".
std::vector<std::string> with_help_at_the_end(std::vector<std::string> words);

}  // namespace cudadiag::command
