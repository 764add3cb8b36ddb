// The options of `run`, `races` and `nans`.
#pragma once

#include <optional>
#include <string>

#include "report/text.h"
#include "run/failure_sinks.h"
#include "supervise/recording.h"
#include "supervise/reruns/rerun_options.h"

namespace cudadiag::command {

// `automatic` reruns if the policy allows it (rerun_policy.h). `ask` also needs the consent of a person.
enum class RerunMode { ask, automatic, always, never };

struct RunOptions {
  supervise::RecordingOptions recording;
  report::Verbosity verbosity = report::Verbosity::normal;
  std::optional<int> error_exit_status;
  std::string json;                   // an additional file for the report
  std::optional<double> hang_after;   // seconds without progress after which the run is ended
  std::optional<double> hang_report;  // seconds after which an unfinished operation is reported
  RerunMode rerun_mode = RerunMode::ask;
  supervise::RerunOptions rerun;
  std::string arm;  // a session whose suspects this run waits for
  FailureSinkOptions sinks;
  bool end_on_failure = false;  // end the program after its failure is reported
  bool stop_on_race = false;
  bool print_no_race = false;  // the user requested races, so the absence of races is reported too
};

}  // namespace cudadiag::command
