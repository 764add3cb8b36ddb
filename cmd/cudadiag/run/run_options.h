// The options of the subcommands `run`, `races` and `nans`.
#pragma once

#include <optional>
#include <string>

#include "report/writers.h"
#include "supervise/recording.h"
#include "supervise/reruns/rerun_policy.h"

namespace cudadiag::command {

// `ask`: rerun only if a user at the terminal agrees. `automatic`: rerun if the policy allows it (rerun_policy.h).
// `standard`: `ask` at a terminal, otherwise `automatic`.
enum class RerunMode { standard, ask, automatic, always, never };

// Whom to inform about a failure.
struct FailureSinkOptions {
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
  RerunMode rerun_mode = RerunMode::standard;
  supervise::RerunOptions rerun;
  std::string arm;  // the session whose suspects this run waits for; empty: none
  FailureSinkOptions sinks;
  bool end_on_failure = false;  // end the program after reporting its failure
  bool stop_on_race = false;
  bool print_no_race = false;  // if no race was found, say so
};

}  // namespace cudadiag::command
