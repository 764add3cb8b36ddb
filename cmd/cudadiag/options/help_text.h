// Writes the text that --help prints.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace cudadiag::command {

// Makes --help show the value type and the default of each option, also for subcommands added later.
void set_help_format(CLI::App& app);

// Lists these options of `command` under one heading in the help, in the order in which they were added. Options
// without a heading are listed first, under "Options".
void group(CLI::App* command, const std::string& heading, const std::vector<std::string>& options);

}  // namespace cudadiag::command
