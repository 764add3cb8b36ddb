// Reports a failure to a user's command, to a container's termination log, and to torchrun.
#pragma once

#include <sys/types.h>

#include "diagnose/facts/report_model.h"
#include "shared_options.h"

namespace cudadiag::command {

class FailureSinks {
 public:
  // `options` must outlive this object.
  explicit FailureSinks(const FailureSinkOptions& options) : options_(options) {}
  FailureSinks(const FailureSinks&) = delete;
  FailureSinks& operator=(const FailureSinks&) = delete;
  // Waits for the user's command, because a container may end as soon as this process ends. INT, TERM and HUP end this
  // process at once. Call this without a SignalRelay: it would take these signals.
  ~FailureSinks();

  // Handles the first report that has a finding, and ignores later reports. Starts the user's command, for which the
  // destructor waits. CUDADIAG_REPORT contains the path of the report.
  void inform(const diagnose::Diagnosis& report);
  // Call this if the program failed. Writes the file named by TORCHELASTIC_ERROR_FILE, unless the program has already
  // written it.
  static void write_torchrun_error(const diagnose::Diagnosis& report);

 private:
  const FailureSinkOptions& options_;
  pid_t command_ = -1;  // a child that waits for the user's command
  bool informed_ = false;
};

}  // namespace cudadiag::command
