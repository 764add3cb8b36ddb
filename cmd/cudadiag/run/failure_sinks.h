// Those who want to hear of a failure besides the person at the terminal: a command of the user's, the log that
// Kubernetes shows of an ended container, and the agent of a torchrun job.
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

  // Of the first report with a finding, at once; of later ones nothing. Does not wait for the user's command, which has
  // the report in the file that CUDADIAG_REPORT names, and is ended after its time.
  void tell(const diagnose::Diagnosis& report);
  // The program has ended badly: the file that TORCHELASTIC_ERROR_FILE names, if the program has left it empty.
  static void tell_torchrun(const diagnose::Diagnosis& report);

 private:
  const FailureSinkOptions& options_;
  bool told_ = false;
};

}  // namespace cudadiag::command
