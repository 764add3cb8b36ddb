// The subcommands, a file each: its options, its work and what it prints.
#pragma once

namespace CLI {
class App;
}

namespace cudadiag::command {

// Each adds its subcommand to `app`. When parsing comes to it, the subcommand is carried out, and `status` becomes the
// exit status.
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
void add_top(CLI::App& app, int& status);

}  // namespace cudadiag::command
