#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <exception>
#include <string_view>
#include <utility>

#include "code_rules.h"
#include "command_line.h"
#include "commands.h"
#include "launch/command_path.h"
#include "launch/standard_descriptors.h"
#include "launch/supervision.h"
#include "launch/supervisor.h"
#include "own_stack.h"
#include "planted_fault.h"
#include "terminal.h"

namespace {

using namespace cudadiag;
using namespace cudadiag::command;

constexpr const char* kSession = "folder or name of a session; the latest if left out";

void add_output(CLI::App* command, std::optional<std::string>& output) {
  add_text(command, "-o,--output", output, "FOLDER", "folder that holds the sessions");
}

// For what only reads: a folder that is not there is a slip of the pen.
void add_input(CLI::App* command, std::string& session, std::optional<std::string>& output) {
  add_text(command, "SESSION", session, "SESSION", kSession);
  add_text(command, "-o,--output", output, "FOLDER", "folder that holds the sessions")->check(an_existing_folder());
}

void name_page(CLI::App* command) {
  const std::string page = "cudadiag-" + command->get_name();
  command->footer("All of this is in " + page + "(1): man " + page);
}

CLI::Option* add_verbosity(CLI::App* command, report::Verbosity& verbosity) {
  auto* quiet = command->add_flag_callback(
      "-q,--quiet", [&] { verbosity = report::Verbosity::quiet; }, "one line a failure");
  command
      ->add_flag_callback(
          "-v,--verbose", [&] { verbosity = report::Verbosity::verbose; }, "everything that is known")
      ->excludes(quiet);
  return quiet;
}

void add_recording(CLI::App* command, launch::RecordOptions& record) {
  const Words<launch::Markers> markers = {
      {"sparse", launch::Markers::sparse}, {"dense", launch::Markers::dense}, {"off", launch::Markers::off}};
  add_word(command, "--markers", record.markers, markers, "completion markers");
  command->add_flag_callback(
      "--no-python-stacks", [&] { record.python_stacks = false; }, "record no Python stacks");
  command->add_flag_callback(
      "--no-native-stacks", [&] { record.native_stacks = false; }, "record no native stacks");
}

void add_reruns(CLI::App* command, supervise::RerunOptions& rerun) {
  add_number(command, "--repeat", rerun.repeat, 1u, 1000u, "number from 1 to 1000", "N",
             "give up after N reruns without a failure")
      ->default_str(std::to_string(rerun.repeat));
  command->add_flag("--show-rerun", rerun.show, "show what reruns print, on standard error");
  command->add_flag_callback(
      "--no-device-pass", [&] { rerun.device = false; }, "make no rerun for a GPU core dump");
  auto* no_values = command->add_flag_callback(
      "--no-values", [&] { rerun.values = false; }, "take no values from the program's variables");
  auto* save_inputs =
      command
          ->add_flag("--save-inputs", rerun.save_inputs, "save the failing PyTorch call, with a script that replays it")
          ->excludes(no_values);
  add_number(command, "--save-limit", rerun.save_limit, 1u, 1u << 20, "number from 1 to 1048576", "MIB",
             "largest size of the failing call's tensors to save")
      ->default_str(std::to_string(rerun.save_limit))
      ->needs(save_inputs);
  command->add_flag("--keep-core", rerun.keep_core, "keep the GPU core dump even if it is large");
  command->add_flag("--cross-check", rerun.cross_check, "compare the GPU core dump with what cuda-gdb says");
  command->add_flag("--sanitize", rerun.sanitize, "make a rerun under compute-sanitizer for the failing kernel");
  add_number(command, "--wait-limit", rerun.patience, 0.01, 86400.0, "number from 0.01 to 86400", "SECONDS",
             "how long a rerun waits for one operation")
      ->default_str(fmt::format("{}", rerun.patience));
  add_number(command, "--time-limit", rerun.time_limit, 0.1, 1e7, "number from 0.1 to 10000000", "SECONDS",
             "how long one rerun may take");
}

void add_full_log(CLI::App* command, RunOptions& run) {
  command->add_flag("--full-log", run.recording.full_log, "keep every operation of the run in the session");
}

void add_rerun_mode(CLI::App* command, RerunMode& mode, const char* what) {
  const Words<RerunMode> modes = {{"ask", RerunMode::ask},
                                  {"auto", RerunMode::automatic},
                                  {"always", RerunMode::always},
                                  {"never", RerunMode::never}};
  add_word(command, "--rerun", mode, modes, what)->envname("CUDADIAG_RERUN");
}

CLI::Option* add_stop_on_race(CLI::App* command, RunOptions& run) {
  return command->add_flag("--stop-on-race", run.stop_on_race, "end the program (SIGTERM) at the first race");
}

// Options of `run` that ask for what another one rules out; empty: there are none.
std::string contradiction(const CLI::App& run, const RunOptions& options) {
  constexpr std::pair<const char*, bool> kOptions[] = {
      {"--sanitize", false}, {"--save-inputs", false}, {"--cross-check", true}, {"--keep-core", true}};
  for (const auto& [option, of_dump] : kOptions) {
    if (run.count(option) == 0) continue;
    // The dump of a hang comes of a rerun that was asked for.
    if (of_dump && options.rerun.hang_dump) continue;
    const std::string both = "; leave one of them out";
    if (options.rerun_mode == RerunMode::never) {
      return std::string(option) + " asks for a rerun, and --rerun=never makes none" + both;
    }
    if (of_dump && !options.rerun.device) {
      return std::string(option) + " is about the GPU core dump of a rerun, and --no-device-pass makes none" + both;
    }
  }
  return "";
}

// Each `options` and `status` outlives the parsing, in which the command is carried out.

void add_races(CLI::App& app, RunOptions& races, int& status) {
  races.recording.record.races = races.tell_no_race = true;
  auto* command = app.add_subcommand("races", "run a command and report races between its streams");
  add_output(command, races.recording.output);
  add_verbosity(command, races.verbosity);
  add_recording(command, races.recording.record);
  add_full_log(command, races);
  add_stop_on_race(command, races);
  add_rerun_mode(command, races.rerun_mode, "name the tensors that race, and confirm a failure, by a rerun");
  add_number(command, "--error-exitcode", races.error_exit_status, 0, 255, "number from 0 to 255", "STATUS",
             "exit status if there are findings");
  add_text(command, "--json", races.json, "FILE", "file to write the report to as JSON")->check(a_writable_file());
  add_code_rules(command);
  command->add_option("COMMAND", races.recording.command, "the command and its arguments")->required();
  command->positionals_at_end();
  name_page(command);
  command->callback([&races, &status, command] {
    races.recording.code_rules = code_rules(*command);
    status = command::run(races);
  });
}

void add_run(CLI::App& app, RunOptions& run, int& status) {
  auto* command = app.add_subcommand("run", "run a command and report its first CUDA failure");
  add_output(command, run.recording.output);
  add_verbosity(command, run.verbosity);
  add_recording(command, run.recording.record);
  add_full_log(command, run);
  auto* races = command->add_flag("--races", run.recording.record.races, "look for races between streams");
  add_stop_on_race(command, run)->needs(races);
  add_rerun_mode(command, run.rerun_mode, "confirm a failure by a rerun");
  add_reruns(command, run.rerun);
  add_texts(command, "--watch", "FILE:LINE", "keep the latest indices and small numbers of this Python line")
      ->check(a_line())
      ->each([&](const std::string& line) { run.recording.watch.push_back(line); });
  add_text(command, "--arm", run.arm, "SESSION", "wait at the suspects of this session");
  add_number(command, "--error-exitcode", run.error_exit_status, 0, 255, "number from 0 to 255", "STATUS",
             "exit status if there are findings");
  add_number(command, "--hang-after", run.hang_after, 0.1, 1e7, "number from 0.1 to 10000000", "SECONDS",
             "end a run that makes no progress for this long, and report what it waits for");
  command->add_flag("--hang-dump", run.rerun.hang_dump, "then rerun it for a GPU core dump of the running kernels")
      ->needs(command->get_option("--hang-after"));
  add_text(command, "--json", run.json, "FILE", "file to write the report to as JSON")->check(a_writable_file());
  add_code_rules(command);
  command->add_option("COMMAND", run.recording.command, "the command and its arguments")->required();
  // From the first word of the command on, everything is the command's own.
  command->positionals_at_end();
  name_page(command);
  command->callback([&run, &status, command] {
    if (const std::string wrong = contradiction(*command, run); !wrong.empty()) {
      say(wrong);
      status = kOwnFailure;
      return;
    }
    run.recording.code_rules = code_rules(*command);
    // Between two markers nothing is seen to move.
    if (run.hang_after && command->count("--markers") == 0) run.recording.record.markers = launch::Markers::dense;
    status = command::run(run);
  });
}

void add_foreign(CLI::App* command, bool& foreign, const char* help) { command->add_flag("--foreign", foreign, help); }

void add_bisect(CLI::App& app, BisectOptions& bisect, int& status) {
  bisect.rerun.hang_dump = true;
  auto* command = app.add_subcommand("bisect", "rerun a recorded command until its failure is proven");
  add_input(command, bisect.session, bisect.output);
  add_verbosity(command, bisect.verbosity);
  add_foreign(command, bisect.foreign, "run the command of a session of another user or host, too");
  add_reruns(command, bisect.rerun);
  add_code_rules(command);
  const Words<analyse::Reach> reaches = {
      {"calls", analyse::Reach::calls}, {"sites", analyse::Reach::sites}, {"all", analyse::Reach::everything}};
  const std::vector<CLI::Option*> windows = {
      add_word(command, "--window", bisect.reach, reaches,
               "the suspects' calls, all calls of their lines, or everything"),
      add_number(command, "--launch", bisect.launch, std::uint64_t{1}, UINT64_MAX, "number from 1 on", "N",
                 "the operation with this number in the first run"),
      add_text(command, "--kernel", bisect.kernel, "REGEX", "kernels whose name this regular expression matches"),
      add_text(command, "--site", bisect.site, "FILE:LINE", "operations issued by way of this line")->check(a_line())};
  for (std::size_t i = 0; i < windows.size(); ++i) {
    windows[i]->group("What to wait for (at most one)");
    for (std::size_t other = 0; other < i; ++other) windows[i]->excludes(windows[other]);
  }
  name_page(command);
  command->callback([&bisect, &status, command] {
    bisect.code_rules = code_rules(*command);
    status = command::bisect(bisect);
  });
}

void add_report(CLI::App& app, ReportOptions& report, int& status) {
  auto* command = app.add_subcommand("report", "report on a session");
  add_input(command, report.session, report.output);
  auto* quiet = add_verbosity(command, report.verbosity);
  const struct {
    const char* name;
    Format format;
    const char* help;
  } formats[] = {{"--json", Format::json, "as JSON"},
                 {"--sarif", Format::sarif, "as SARIF 2.1.0, for code scanning and editors"},
                 {"--html", Format::html, "as a page for a browser, with everything that is known"}};
  std::vector<CLI::Option*> others = {quiet};
  for (const auto& [name, format, help] : formats) {
    auto* option = command->add_flag_callback(
        name, [&report, chosen = format] { report.format = chosen; }, help);
    for (CLI::Option* other : others) option->excludes(other);
    others.push_back(option);
  }
  auto* bundle = command
                     ->add_option_function<std::string>(
                         "--bundle", [&](const std::string& file) { report.bundle = file; },
                         "pack it for an issue tracker, without recognisable secrets and names")
                     ->expected(0, 1)
                     ->type_name("FILE");
  for (CLI::Option* other : others) bundle->excludes(other);
  command->add_flag("--bundle-inputs", report.bundle_inputs, "add the failing call's tensors")->needs(bundle);
  add_foreign(command, report.foreign, "quote sources for a session of another user or host, too");
  add_code_rules(command);
  name_page(command);
  command->callback([&report, &status, command, bundle] {
    report.code_rules = code_rules(*command);
    if (bundle->count() > 0 && !report.bundle) report.bundle = "";
    status = command::report(report);
  });
}

void add_status(CLI::App& app, StatusOptions& options, int& status) {
  auto* command = app.add_subcommand("status", "what a run is waiting for now");
  add_input(command, options.session, options.output);
  command->add_flag_callback(
      "-v,--verbose", [&] { options.verbosity = report::Verbosity::verbose; }, "everything that is known");
  command->add_flag("--json", options.json, "as JSON");
  name_page(command);
  command->callback([&] { status = command::status(options); });
}

void add_ranks(CLI::App& app, RanksOptions& options, int& status) {
  auto* command = app.add_subcommand("ranks", "combine the sessions of a multi-rank job into one report");
  command->add_option("SESSION", options.sessions, "sessions of the job, or folders that hold them")
      ->type_name("SESSION");
  add_text(command, "-o,--output", options.output, "FOLDER", "folder that holds them")->check(an_existing_folder());
  add_verbosity(command, options.verbosity);
  command->add_flag("--json", options.json, "as JSON");
  add_foreign(command, options.foreign, "quote sources for sessions of another user or host, too");
  name_page(command);
  command->callback([&] { status = command::ranks(options); });
}

void add_top(CLI::App& app, TopOptions& options, int& status) {
  auto* command = app.add_subcommand("top", "what a run is doing, again every second");
  add_input(command, options.session, options.output);
  add_number(command, "-n,--count", options.count, 1u, 1000000u, "number from 1 to 1000000", "COUNT",
             "stop after N updates");
  name_page(command);
  command->callback([&] { status = command::top(options); });
}

void add_core(CLI::App& app, CoreOptions& core, int& status) {
  auto* command = app.add_subcommand("core", "read a GPU core dump");
  add_text(command, "FILE", core.file, "FILE", "the dump, gzip-compressed or not")->required();
  command->add_flag("--json", core.json, "as JSON");
  command->add_flag("--cross-check", core.cross_check, "compare with what cuda-gdb says");
  name_page(command);
  command->callback([&] { status = command::core(core); });
}

// A first word that is no command; the library would only say that some command is needed.
std::string wrong_first_word(const CLI::App& app, const std::vector<std::string>& words) {
  if (words.empty()) return "which command? See cudadiag --help";
  const std::string& word = words.front();
  if (!app.get_subcommands([&](const CLI::App* command) { return command->get_name() == word; }).empty()) return "";
  if (word == "-h" || word == "--help" || word == "--version") return "";
  if (word.starts_with('-')) return "no such option before a command: " + word + "; see cudadiag --help";
  std::vector<std::string> commands;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App* each) { return !each->get_group().empty(); })) {
    commands.push_back(command->get_name());
  }
  const std::string meant = did_you_mean(word, commands);
  const bool program = !launch::find_command(word).path.empty();
  if (program) return "no such command " + word + "; to run a program: cudadiag run -- " + word + " …";
  return "no such command " + word + (meant.empty() ? "; see cudadiag --help" : meant);
}

// "help run" is "run --help".
std::vector<std::string> with_help_behind(std::vector<std::string> words) {
  if (words.empty() || words.front() != "help") return words;
  words.erase(words.begin());
  words.resize(std::min<std::size_t>(words.size(), 1));
  words.emplace_back("--help");
  return words;
}

int dispatch(std::vector<std::string> words) {
  CLI::App app("Names the CUDA operation that failed first, and the line of source that issued it.", "cudadiag");
  set_help_format(app);
  app.set_help_flag("-h,--help", "print this help");
  app.set_version_flag("--version", "cudadiag " CUDADIAG_VERSION, "print the version");
  app.require_subcommand(1);
  app.footer("All of this is in cudadiag(1): man cudadiag");
  int status = 0;

  RunOptions run, races;
  add_run(app, run, status);
  add_races(app, races, status);
  BisectOptions bisect;
  add_bisect(app, bisect, status);
  ReportOptions report;
  add_report(app, report, status);
  StatusOptions status_options;
  add_status(app, status_options, status);
  RanksOptions ranks;
  add_ranks(app, ranks, status);
  TopOptions top;
  add_top(app, top, status);

  std::optional<std::string> list_output;
  auto* list_command = app.add_subcommand("list", "list the sessions, newest first");
  add_output(list_command, list_output);
  list_command->get_option("--output")->check(an_existing_folder());
  list_command->callback([&] { status = command::list(list_output); });

  std::string dump_session;
  std::optional<std::string> dump_output;
  auto* dump_command = app.add_subcommand("dump", "print every record of a session");
  add_input(dump_command, dump_session, dump_output);
  dump_command->callback([&] { status = command::dump(dump_session, dump_output); });

  CoreOptions core;
  add_core(app, core, status);

  std::optional<std::string> env_output;
  launch::RecordOptions env_record;
  auto* env_command = app.add_subcommand("env", "print the exports that record a program without cudadiag run");
  add_output(env_command, env_output);
  add_recording(env_command, env_record);
  env_command->callback([&] { status = command::environment(env_output, env_record); });

  bool gpu = false;
  auto* doctor_command = app.add_subcommand("doctor", "check what works on this machine");
  doctor_command->add_flag("--gpu", gpu, "prove it on the GPU with a planted fault");
  doctor_command->callback([&] { status = command::doctor(gpu); });

  std::string mode;
  auto* child_command = app.add_subcommand("doctor-child")->group("");
  child_command->add_option("mode", mode)->required();
  child_command->callback([&] { status = command::doctor_child(mode); });

  words = with_help_behind(std::move(words));
  if (const std::string wrong = wrong_first_word(app, words); !wrong.empty()) return say(wrong), kOwnFailure;
  try {
    parse(app, std::move(words));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    return say(complaint(app, error)), kOwnFailure;
  }
  return status;
}

int run_command_line(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == launch::supervision::kCommand) return launch::supervise(argc, argv);
  launch::occupy_standard_descriptors();
  try {
    const int status = dispatch({argv + std::min(argc, 1), argv + argc});
    return command::output_arrived() ? status : command::kOwnFailure;
  } catch (const std::exception& error) {
    command::say(std::string("this should not have happened: ") + error.what());
    return command::kOwnFailure;
  }
}

}  // namespace

int main(int argc, char** argv) { return command::on_ample_stack(run_command_line, argc, argv); }
