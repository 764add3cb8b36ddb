// Generates completion scripts for shells from the options.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace cudadiag::command {

enum class Shell { bash, zsh, fish };

// Returns a script that completes the visible subcommands of `app`, their options, and the options' words, files and
// sessions. To complete a session, the script runs `cudadiag list`.
std::string completion_script(const CLI::App& app, Shell shell);

}  // namespace cudadiag::command
