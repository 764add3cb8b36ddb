// Generates shell completion scripts from the command-line options.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace cudadiag::command {

enum class Shell { bash, zsh, fish };

// Returns a script that completes the visible subcommands of `app` and their options. It also completes option values,
// files and sessions. The script lists the sessions with `cudadiag list`.
std::string completion_script(const CLI::App& app, Shell shell);

}  // namespace cudadiag::command
