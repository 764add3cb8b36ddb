// `cudadiag races`: runs a command and reports races between its streams.
#include <CLI/CLI.hpp>
#include <memory>

#include "commands/commands.h"
#include "options/code_rules.h"
#include "options/help_text.h"
#include "options/shared_options.h"
#include "run/watched_run.h"

namespace cudadiag::command {

void add_races(CLI::App& app, int& status) {
  auto races = std::make_shared<RunOptions>();
  races->recording.record.races = races->print_no_race = true;
  auto* command = app.add_subcommand("races", "run a command and report races between its streams");
  add_output(command, races->recording.output);
  add_verbosity(command, races->verbosity);
  add_recording(command, races->recording.record);
  add_full_log(command, races->recording.full_log);
  auto* stop = add_stop_on_race(command, races->stop_on_race);
  command
      ->add_flag("--tensors", races->recording.tensor_races,
                 "compare the bytes that PyTorch's operators use, instead of watching CUDA calls")
      ->excludes(stop);
  command->add_flag_callback(
      "--no-host-writes", [races] { races->recording.record.host_writes = false; },
      "do not check whether the host changes the source of a copy too early");
  group(command, "Races", {"--stop-on-race", "--no-host-writes"});
  add_rerun_mode(command, races->rerun_mode, "whether to rerun the command to name the racing tensors");
  add_error_exit_status(command, races->error_exit_status);
  add_json_file(command, races->json);
  add_code_rules(command);
  add_command(command, races->recording.command);
  name_page(command);
  command->callback([races, &status, command] {
    races->recording.code_rules = code_rules(*command);
    if (races->recording.tensor_races) {
      races->rerun_mode = RerunMode::never;
      races->recording.record.races = races->print_no_race = false;
    }
    status = run(*races);
  });
}

}  // namespace cudadiag::command
