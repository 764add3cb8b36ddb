// Reports a failure not only at the terminal, but also to the user's own command, to the termination log of a
// container, and to the agent of a torchrun job.
#pragma once

#include <string>

#include "diagnose/diagnosis.h"

namespace cudadiag::command {

struct FailureSinkOptions {
  std::string command;          // for a shell; empty for none
  std::string termination_log;  // a file; empty for none
};

// The time limit for the user's command.
inline constexpr unsigned kOnFailureSeconds = 60;

class FailureSinks {
 public:
  // `options` must outlive this object.
  explicit FailureSinks(const FailureSinkOptions& options) : options_(options) {}

  // Acts on the first report that has a finding, and ignores later ones. Starts the user's command without waiting for
  // it. CUDADIAG_REPORT is the path of the report.
  void tell(const diagnose::Diagnosis& report);
  // Call this if the program failed. Writes the file that TORCHELASTIC_ERROR_FILE names, unless the program wrote it.
  static void write_torchrun_error(const diagnose::Diagnosis& report);

 private:
  const FailureSinkOptions& options_;
  bool told_ = false;
};

}  // namespace cudadiag::command
