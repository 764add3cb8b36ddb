// `cudadiag nans`: runs a PyTorch program and reports the first NaN that it uses.
#include <CLI/CLI.hpp>
#include <memory>

#include "commands/commands.h"
#include "options/code_rules.h"
#include "options/command_line.h"
#include "options/shared_options.h"
#include "run/watched_run.h"

namespace cudadiag::command {

void add_nans(CLI::App& app, int& status) {
  auto nans = std::make_shared<RunOptions>();
  nans->rerun_mode = RerunMode::never;
  supervise::NansOptions& checks = nans->recording.nans.emplace();
  auto* command = app.add_subcommand("nans", "run a PyTorch program and report the first NaN that it uses");
  add_output(command, nans->recording.output);
  add_verbosity(command, nans->verbosity);
  command->add_flag("--also-inf", checks.also_infinite, "also report infinite elements, even masks of -inf");
  command->add_flag("--blocking", checks.blocking,
                    "wait for each check on a GPU, to report the NaN element and its inputs");
  add_number(command, "--history", checks.history,
             NumberRange<unsigned>{4096u, 1u << 24, "number from 4096 to 16777216"}, "N",
             "how many checks may be outstanding on a GPU; default: 65536");
  add_error_exit_status(command, nans->error_exit_status);
  add_json_file(command, nans->json);
  add_code_rules(command);
  add_command(command, nans->recording.command);
  name_page(command);
  command->callback([nans, &status, command] {
    nans->recording.code_rules = code_rules(*command);
    status = run(*nans);
  });
}

}  // namespace cudadiag::command
