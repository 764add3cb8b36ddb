// The subcommands that run a command and report what they find: `run` its first CUDA failure, `races` the races between
// its streams, `nans` the first NaN that it uses.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>

#include "command_line.h"
#include "commands/commands.h"
#include "run/watched_run.h"
#include "shared_options.h"
#include "terminal.h"

namespace cudadiag::command {
namespace {

// Returns an error message if some options of `run` contradict each other; empty if none do.
std::string contradiction(const CLI::App& run, const RunOptions& options) {
  enum class Needs { rerun, dump_of_rerun, dump };
  constexpr std::pair<const char*, Needs> kOptions[] = {{"--sanitize", Needs::rerun},
                                                        {"--save-launch", Needs::rerun},
                                                        {"--save-inputs", Needs::rerun},
                                                        {"--cross-check", Needs::dump_of_rerun},
                                                        {"--keep-core", Needs::dump}};
  for (const auto& [option, needs] : kOptions) {
    if (run.count(option) == 0) continue;
    const bool of_dump = needs != Needs::rerun;
    // With --on-hang=dump, these options apply to the rerun that writes the dump; with --once, this run writes one.
    if (of_dump && options.rerun.hang_dump) continue;
    if (needs == Needs::dump && options.recording.record.once) continue;
    const std::string both = "; use only one of the two options";
    if (options.rerun_mode == supervise::RerunMode::never) {
      if (options.recording.record.once && run.count("--rerun") == 0) {
        return std::string(option) + " needs a rerun; with --once, add --rerun=auto";
      }
      return std::string(option) + " needs a rerun, but --rerun=never forbids reruns" + both;
    }
    if (of_dump && !options.rerun.device) {
      return std::string(option) + " needs the GPU core dump of a rerun, but --no-device-pass prevents that rerun" +
             both;
    }
  }
  return "";
}

// Adds the options that choose what to watch for, and what to do when it happens.
void add_watches(CLI::App* command, const std::shared_ptr<RunOptions>& run) {
  add_texts(command, "--watch", "FILE:LINE", "record the values of variables at this Python line")
      ->check(a_line())
      ->each([run](const std::string& line) { run->recording.watch.push_back(line); });
  add_text(command, "--arm", run->arm, "SESSION", "wait for the operations that may have failed in this session");
  add_error_exit_status(command, run->error_exit_status);
  add_text(command, "--on-failure", run->notices.command, "COMMAND",
           "run this shell command at the first failure; CUDADIAG_REPORT is the path of the report, as JSON");
  add_text(command, "--termination-log", run->notices.termination_log, "FILE", "also append the report to this file")
      ->check(a_writable_file());
  command->add_flag("--end-on-failure", run->end_on_failure, "end the program after reporting its failure");
  group(command, "In CI and in production", {"--on-failure", "--termination-log", "--end-on-failure"});
  group(command, "Recording", {"--watch", "--arm"});
}

// `report`: let the program continue. `dump`: end the program, and rerun it for a GPU core dump.
enum class OnHang { report, end, dump };

struct HangOptions {
  std::optional<double> after;
  OnHang action = OnHang::end;
};

// Adds --hang-after and --on-hang, and their older spellings, which the help omits.
void add_hangs(CLI::App* command, const std::shared_ptr<RunOptions>& run, HangOptions& hang) {
  const NumberRange<double> seconds{0.1, 1e7, "number of seconds from 0.1 to 10000000"};
  auto* after = add_number(command, "--hang-after", hang.after, seconds, "SECONDS",
                           "end a run that makes no progress for this long, and report what it waits for");
  const Words<OnHang> actions = {{"report", OnHang::report}, {"end", OnHang::end}, {"dump", OnHang::dump}};
  auto* action = add_word(command, "--on-hang", hang.action, actions,
                          "with --hang-after: only report each operation that takes this long; end the run; or also "
                          "rerun the command to get a GPU core dump of the kernels that hang")
                     ->needs(after);
  add_number(command, "--hang-report", run->hang_report, seconds, "SECONDS", "--hang-after SECONDS --on-hang=report")
      ->excludes(action)
      ->group("");
  command->add_flag("--hang-dump", run->rerun.hang_dump, "--on-hang=dump")->needs(after)->excludes(action)->group("");
}

void take(const HangOptions& hang, RunOptions& options) {
  (hang.action == OnHang::report ? options.hang_report : options.hang_after) = hang.after;
  if (hang.action == OnHang::dump) options.rerun.hang_dump = true;
}

void take_command_line(const CLI::App& command, supervise::RecordingOptions& recording) {
  recording.code_rules = code_rules(command);
  recording.options = given_options(command, false);
  recording.rerun_options = given_options(command, true);
}

int carry_out(CLI::App* command, RunOptions& options) {
  // With --once, the findings must come from this run, so reruns are off unless --rerun is given.
  if (options.recording.record.once && command->count("--rerun") == 0) options.rerun_mode = supervise::RerunMode::never;
  if (const std::string wrong = contradiction(*command, options); !wrong.empty()) return say(wrong), kOwnFailure;
  take_command_line(*command, options.recording);
  // Progress is visible only at markers, so detecting hangs needs dense markers.
  if ((options.hang_after || options.hang_report) && command->count("--markers") == 0) {
    options.recording.record.markers = wire::Markers::dense;
  }
  return run(options);
}

}  // namespace

void add_run(CLI::App& app, int& status) {
  auto run = std::make_shared<RunOptions>();
  auto* command = app.add_subcommand("run", "run a command and report its first CUDA failure");
  add_output(command, run->recording.output);
  add_verbosity(command, run->verbosity);
  add_recording(command, run->recording.record);
  auto* once = command->add_flag("--once", run->recording.record.once,
                                 "get a GPU core dump from this run, and end the program at its first GPU exception");
  once->excludes(command->get_option("--watch-by"));
  command->add_flag("--nccl", run->recording.record.nccl, "observe the calls of NCCL, to explain hangs of a job");
  group(command, "Recording", {"--nccl"});
  add_full_log(command, run->recording.full_log);
  auto* races = command->add_flag("--races", run->recording.record.races, "look for races between streams");
  races->excludes(once);
  add_check_copies(command, run->recording.record)->excludes(races);
  add_stop_on_race(command, run->stop_on_race)->needs(races);
  command->add_flag("--graph-memory", run->recording.graph_memory,
                    "find replayed graphs that use memory which PyTorch has given to another tensor");
  add_rerun_mode(command, run->rerun_mode, "whether to rerun the command to prove a failure");
  // --once outweighs CUDADIAG_RERUN, which CLI11 reads after the command line.
  once->trigger_on_parse()->each([command](const std::string&) { command->get_option("--rerun")->envname(""); });
  add_reruns(command, run->rerun);
  add_watches(command, run);
  auto hang = std::make_shared<HangOptions>();
  add_hangs(command, run, *hang);
  add_json_file(command, run->json);
  add_code_rules(command);
  add_command(command, run->recording.command);
  group(command, "Hangs and races", {"--on-hang", "--races", "--stop-on-race", "--check-copies", "--graph-memory"});
  name_page(command, "cudadiag run -- python train.py --epochs 3");
  command->callback([run, hang, &status, command] {
    take(*hang, *run);
    status = carry_out(command, *run);
  });
}

void add_races(CLI::App& app, int& status) {
  auto races = std::make_shared<RunOptions>();
  races->recording.record.races = races->print_no_race = true;
  auto* command = app.add_subcommand("races", "run a command and report races between its streams");
  add_output(command, races->recording.output);
  add_verbosity(command, races->verbosity);
  add_recording(command, races->recording.record);
  add_full_log(command, races->recording.full_log);
  auto* stop = add_stop_on_race(command, races->stop_on_race);
  auto* tensors = command
                      ->add_flag("--tensors", races->recording.tensor_races,
                                 "compare the bytes that PyTorch's operators use, instead of watching CUDA calls")
                      ->excludes(stop);
  command->add_flag_callback(
      "--no-host-writes", [races] { races->recording.record.host_writes = false; },
      "do not check whether the host changes the source of a copy too early");
  for (const char* of_calls :
       {"--watch-by", "--markers", "--no-python-stacks", "--no-native-stacks", "--full-log", "--no-host-writes"}) {
    tensors->excludes(command->get_option(of_calls));
  }
  group(command, "Races", {"--stop-on-race", "--no-host-writes"});
  add_rerun_mode(command, races->rerun_mode, "whether to rerun the command to name the racing tensors");
  add_error_exit_status(command, races->error_exit_status);
  add_json_file(command, races->json);
  add_code_rules(command);
  add_command(command, races->recording.command);
  name_page(command);
  command->callback([races, &status, command] {
    take_command_line(*command, races->recording);
    if (races->recording.tensor_races) {
      races->rerun_mode = supervise::RerunMode::never;
      races->recording.record.races = races->print_no_race = false;
    }
    status = run(*races);
  });
}

void add_nans(CLI::App& app, int& status) {
  auto nans = std::make_shared<RunOptions>();
  nans->rerun_mode = supervise::RerunMode::never;
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
    take_command_line(*command, nans->recording);
    status = run(*nans);
  });
}

}  // namespace cudadiag::command
