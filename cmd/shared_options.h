// The options of `run`, `races` and `nans`, and options that several subcommands share.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "launch/environment.h"
#include "report/writers.h"
#include "session/session.h"
#include "supervise/recording.h"
#include "supervise/reruns/rerun_policy.h"

namespace cudadiag::command {

// Whom to inform about a failure.
struct FailureNoticeOptions {
  std::string command;          // run by a shell; empty: none
  std::string termination_log;  // a file; empty: none
};

struct RunOptions {
  supervise::RecordingOptions recording;
  report::Verbosity verbosity = report::Verbosity::normal;
  std::optional<int> error_exit_status;
  std::string json;                   // another file to write the report to, as JSON
  std::optional<double> hang_after;   // end a run that has made no progress for this many seconds
  std::optional<double> hang_report;  // report an operation that has not finished after this many seconds
  supervise::RerunMode rerun_mode = supervise::RerunMode::standard;
  supervise::RerunOptions rerun;
  std::string arm;  // the session whose suspects this run waits for; empty: none
  FailureNoticeOptions notices;
  bool end_on_failure = false;  // end the program after reporting its failure
  bool stop_on_race = false;
  bool print_no_race = false;  // if no race was found, say so
};

// The variables that this function and the following ones set must outlive the parsing.
void add_output(CLI::App* command, std::optional<std::filesystem::path>& output);
// Like add_output(), for commands that only read. Rejects a missing folder, because it is probably a typo.
void add_existing_output(CLI::App* command, std::optional<std::filesystem::path>& output);
void add_input(CLI::App* command, std::string& session, std::optional<std::filesystem::path>& output);
// Ends the help with the example, if given, and the name of the manual page.
void name_page(CLI::App* command, const std::string& example = "");
// The heading of options that change what is printed.
inline constexpr const char* kOutput = "Output";
void add_colour(CLI::App* command);
// Adds -q, -v and --color. Returns -q.
CLI::Option* add_verbosity(CLI::App* command, report::Verbosity& verbosity);
void add_recording(CLI::App* command, wire::RecordOptions& record);
CLI::Option* add_check_copies(CLI::App* command, wire::RecordOptions& record);
// `origin`: also add --origin.
void add_reruns(CLI::App* command, supervise::RerunOptions& rerun, bool origin = false);
void add_full_log(CLI::App* command, bool& full_log);
void add_rerun_mode(CLI::App* command, supervise::RerunMode& mode, const char* what);
CLI::Option* add_stop_on_race(CLI::App* command, bool& stop);
void add_error_exit_status(CLI::App* command, std::optional<int>& status);
void add_json_file(CLI::App* command, std::string& file);
void add_command(CLI::App* command, std::vector<std::string>& words);
void add_foreign(CLI::App* command, bool& foreign, const char* help);

// Returns the options of this command line as in session::Manifest, without those for output and sessions: a suggested
// command must not replace the report that the user has.
// `of_reruns`: only those of add_reruns(); otherwise, the subcommand comes first.
std::vector<std::string> given_options(const CLI::App& command, bool of_reruns);

// Returns the command line that has the options `given`, from given_options(), and `added`, which may replace one of
// them. `place`: the session or folder that it is about.
std::string command_with(std::vector<std::string> given, const std::string& added, const std::filesystem::path& place);

// The options --user-code and --not-user-code classify code as the user's own or not.
void add_code_rules(CLI::App* command);

// Returns the rules in command-line order. For a path that contains symbolic links, adds the same rule for the real
// path.
std::vector<session::CodeRule> code_rules(const CLI::App& command);

// Returns an error if the path of a rule exists neither on this machine nor in the session. The session may have been
// recorded on another machine. `session` may be null.
std::optional<base::Error> unknown_path(const std::vector<session::CodeRule>& rules, const session::Session* session);

// Adds rules to those of the session, unless unknown_path() returns an error for them.
std::optional<base::Error> add_rules(const std::vector<session::CodeRule>& rules, session::Session& session);

}  // namespace cudadiag::command
