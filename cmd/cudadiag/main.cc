#include <CLI/CLI.hpp>
#include <exception>
#include <map>

#include "commands.h"
#include "planted_fault.h"
#include "terminal.h"

namespace {

using namespace cudadiag;

void add_output(CLI::App* command, std::optional<std::string>& output) {
  command->add_option("-o,--output", output, "folder that holds the sessions");
}

void add_verbosity(CLI::App* command, report::Verbosity& verbosity) {
  auto* quiet = command->add_flag_callback(
      "-q,--quiet", [&] { verbosity = report::Verbosity::quiet; }, "one line a failure");
  command
      ->add_flag_callback(
          "-v,--verbose", [&] { verbosity = report::Verbosity::verbose; }, "everything that is known")
      ->excludes(quiet);
}

void add_recording(CLI::App* command, launch::RecordOptions& record) {
  const std::map<std::string, launch::Markers> markers = {
      {"sparse", launch::Markers::sparse}, {"dense", launch::Markers::dense}, {"off", launch::Markers::off}};
  command->add_option("--markers", record.markers, "completion markers: sparse, dense or off")
      ->transform(CLI::CheckedTransformer(markers).description("{sparse,dense,off}"));
  command->add_flag("!--no-python-stacks", record.python_stacks, "record no Python stacks");
  command->add_flag("!--no-native-stacks", record.native_stacks, "record no native stacks");
}

void add_reruns(CLI::App* command, command::RerunOptions& rerun) {
  command->add_option("--repeat", rerun.repeat, "reruns that may end without a failure before the search does")
      ->check(CLI::Range(1u, 1000u));
  command->add_flag("--show-rerun", rerun.show, "show what reruns print, on standard error");
  command->add_flag("!--no-device-pass", rerun.device, "make no rerun for a GPU core dump");
  command->add_flag("--keep-core", rerun.keep_core, "keep the GPU core dump, however large");
  command->add_option("--wait-limit", rerun.patience, "seconds that one operation may take while it is waited for")
      ->check(CLI::Range(0.01, 86400.0));
  command->add_option("--time-limit", rerun.time_limit, "seconds that one rerun may take")->check(CLI::Range(0.1, 1e7));
}

int dispatch(int argc, char** argv) {
  CLI::App app("Names the CUDA operation that failed first, and the line of source that issued it.", "cudadiag");
  app.set_version_flag("--version", "cudadiag " CUDADIAG_VERSION);
  app.require_subcommand(1);
  int status = 0;

  command::RunOptions run;
  auto* run_command = app.add_subcommand("run", "run a command and report its first CUDA failure");
  add_output(run_command, run.output);
  add_verbosity(run_command, run.verbosity);
  add_recording(run_command, run.record);
  const std::map<std::string, command::RerunMode> modes = {{"auto", command::RerunMode::automatic},
                                                           {"always", command::RerunMode::always},
                                                           {"never", command::RerunMode::never}};
  run_command->add_option("--rerun", run.rerun.mode, "confirm a failure by a rerun: auto, always or never")
      ->transform(CLI::CheckedTransformer(modes).description("{auto,always,never}"));
  add_reruns(run_command, run.rerun);
  run_command->add_option("--arm", run.arm, "wait at the suspects of this session");
  run_command->add_option("--error-exitcode", run.error_exit_status, "exit status if there are findings")
      ->check(CLI::Range(0, 255));
  run_command->add_option("--json", run.json, "file to write the report to as JSON");
  run_command->add_option("command", run.command, "the command and its arguments, after --")->required();
  // From the first word of the command on, everything is the command's own.
  run_command->positionals_at_end();
  run_command->callback([&] { status = command::run(run); });

  command::BisectOptions bisect;
  auto* bisect_command = app.add_subcommand("bisect", "rerun a recorded command until its failure is proven");
  bisect_command->add_option("session", bisect.session, "folder or name of a session; the latest if left out");
  add_output(bisect_command, bisect.output);
  add_verbosity(bisect_command, bisect.verbosity);
  add_reruns(bisect_command, bisect.rerun);
  const std::map<std::string, analyse::Reach> reaches = {
      {"calls", analyse::Reach::calls}, {"sites", analyse::Reach::sites}, {"all", analyse::Reach::everything}};
  auto* window = bisect_command->add_option_group("window", "what to wait for, instead of the suspects");
  window->add_option("--window", bisect.reach, "suspects' calls, all calls of their sites, or everything")
      ->transform(CLI::CheckedTransformer(reaches).description("{calls,sites,all}"));
  window->add_option("--launch", bisect.launch, "the operation with this number in the first run");
  window->add_option("--kernel", bisect.kernel, "kernels whose name this regular expression matches");
  window->add_option("--site", bisect.site, "operations issued by way of this FILE:LINE");
  window->require_option(0, 1);
  bisect_command->callback([&] { status = command::bisect(bisect); });

  command::ReportOptions report;
  auto* report_command = app.add_subcommand("report", "report on a session");
  report_command->add_option("session", report.session, "folder or name of a session; the latest if left out");
  add_output(report_command, report.output);
  add_verbosity(report_command, report.verbosity);
  report_command->add_flag("--json", report.json, "as JSON");
  report_command->callback([&] { status = command::report(report); });

  std::optional<std::string> list_output;
  auto* list_command = app.add_subcommand("list", "list the sessions, newest first");
  add_output(list_command, list_output);
  list_command->callback([&] { status = command::list(list_output); });

  std::string dump_session;
  std::optional<std::string> dump_output;
  auto* dump_command = app.add_subcommand("dump", "print every record of a session");
  dump_command->add_option("session", dump_session, "folder or name of a session; the latest if left out");
  add_output(dump_command, dump_output);
  dump_command->callback([&] { status = command::dump(dump_session, dump_output); });

  std::string core_file;
  bool core_json = false;
  auto* core_command = app.add_subcommand("core", "say what a GPU core dump knows of the failure");
  core_command->add_option("file", core_file, "the dump, gzip-compressed or not")->required();
  core_command->add_flag("--json", core_json, "as JSON");
  core_command->callback([&] { status = command::core(core_file, core_json); });

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

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : command::kOwnFailure;
  }
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return dispatch(argc, argv);
  } catch (const std::exception& error) {
    command::say(std::string("this should not have happened: ") + error.what());
    return command::kOwnFailure;
  }
}
