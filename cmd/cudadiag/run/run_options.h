// The options of the subcommands `run`, `races` and `nans`.
#pragma once

#include <optional>
#include <string>

#include "report/text.h"
#include "run/failure_sinks.h"
#include "supervise/recording.h"
#include "supervise/reruns/rerun_options.h"

namespace cudadiag::command {

// `automatic` reruns if the policy allows it (rerun_policy.h). `ask` also needs a person's consent.
enum class RerunMode { ask, automatic, always, never };

struct RunOptions {
  supervise::RecordingOptions recording;
  report::Verbosity verbosity = report::Verbosity::normal;
  std::optional<int> error_exit_status;
  std::string json;                   // a further file for the report
  std::optional<double> hang_after;   // end the run after this many seconds without progress
  std::optional<double> hang_report;  // report an operation that is unfinished after this many seconds
  RerunMode rerun_mode = RerunMode::ask;
  supervise::RerunOptions rerun;
  std::string arm;  // session whose suspects this run waits for
  FailureSinkOptions sinks;
  bool end_on_failure = false;  // end the program once its failure has been reported
  bool stop_on_race = false;
  bool print_no_race = false;  // the user asked about races, so say if there are none
};

}  // namespace cudadiag::command
