// Tells others of a failure than the person at the terminal: a command of the user, the termination log of a container,
// and the agent of a torchrun job.
#pragma once

#include <string>

#include "diagnose/diagnosis.h"

namespace cudadiag::command {

struct FailureSinkOptions {
  std::string command;          // for a shell; empty: none
  std::string termination_log;  // a file; empty: none
};

// How long the user's command may take.
inline constexpr unsigned kOnFailureSeconds = 60;

class FailureSinks {
 public:
  // `options` outlives this.
  explicit FailureSinks(const FailureSinkOptions& options) : options_(options) {}

  // Acts on the first report that has a finding, and ignores later ones. Starts the user's command without waiting for
  // it. CUDADIAG_REPORT names the file with the report.
  void tell(const diagnose::Diagnosis& report);
  // Call this if the program ended badly. Writes the file that TORCHELASTIC_ERROR_FILE names, unless the program wrote it.
  static void write_torchrun_error(const diagnose::Diagnosis& report);

 private:
  const FailureSinkOptions& options_;
  bool told_ = false;
};

}  // namespace cudadiag::command
