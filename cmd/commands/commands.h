// Declares the subcommands. Each is implemented in its own file.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace cudadiag::command {

// Each function adds its subcommand to `app`. If the command line contains that subcommand, parsing it also runs it and
// sets `status` to the exit status.
void add_bisect(CLI::App& app, int& status);
void add_completion(CLI::App& app, int& status);
void add_core(CLI::App& app, int& status);
void add_doctor(CLI::App& app, int& status);
void add_dump(CLI::App& app, int& status);
void add_env(CLI::App& app, int& status);
void add_keep(CLI::App& app, int& status);
void add_list(CLI::App& app, int& status);
void add_nans(CLI::App& app, int& status);
void add_races(CLI::App& app, int& status);
void add_ranks(CLI::App& app, int& status);
void add_replay(CLI::App& app, int& status);
void add_report(CLI::App& app, int& status);
void add_rm(CLI::App& app, int& status);
void add_run(CLI::App& app, int& status);
void add_status(CLI::App& app, int& status);

// Returns what may be at the end of `words`, the words after `cudadiag` on a command line (completion.cc).
std::vector<std::string> completions(const CLI::App& app, const std::vector<std::string>& words);

}  // namespace cudadiag::command
