// Reports a failure outside the terminal: to a command of the user's, to the termination log of a container, and to the
// agent of a torchrun job.
#pragma once

#include <string>

#include "diagnose/diagnosis.h"

namespace cudadiag::command {

struct FailureSinkOptions {
  std::string command;          // for a shell; empty: none
  std::string termination_log;  // a file; empty: none
};

// How long the user's command may run, in seconds.
inline constexpr unsigned kOnFailureSeconds = 60;

class FailureSinks {
 public:
  // `options` must outlive this object.
  explicit FailureSinks(const FailureSinkOptions& options) : options_(options) {}

  // Acts on the first report that has a finding, and ignores later ones. Starts the user's command, with the report's
  // path in CUDADIAG_REPORT, but does not wait for it.
  void tell(const diagnose::Diagnosis& report);
  // Call this if the program failed. Writes the file that TORCHELASTIC_ERROR_FILE names, unless the program has written
  // it.
  static void write_torchrun_error(const diagnose::Diagnosis& report);

 private:
  const FailureSinkOptions& options_;
  bool told_ = false;
};

}  // namespace cudadiag::command
