// Writes the texts that --help, --help-all and --version print.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace cudadiag::command {

// The group of subcommands that only --help-all lists.
inline constexpr const char* kRareCommands = "Rarely needed";

// Makes --help show the value type and the default of each option, also for subcommands added later. --help lists the
// options without a heading. --help-all lists all except those in the group "".
void set_help_format(CLI::App& app);

// Lists these options of `command` under one heading of --help-all, in the order in which they were added.
void group(CLI::App* command, const std::string& heading, const std::vector<std::string>& options);

// The text of --version.

// The commit that this program was built from, or "unknown". Defined by the file that commit.cmake writes.
extern const char* const kCommit;

// Returns the text of --version, whose first line is like "cudadiag 1.2.3".
std::string version_text();

}  // namespace cudadiag::command
