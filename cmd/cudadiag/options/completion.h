// Completion scripts for shells, generated from the options.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace cudadiag::command {

enum class Shell { bash, zsh, fish };

// A script that completes every visible subcommand of `app`, its options, their words, files and sessions. To complete
// a session, the script runs `cudadiag list`.
std::string completion_script(const CLI::App& app, Shell shell);

}  // namespace cudadiag::command
