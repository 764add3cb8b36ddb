// Prints the findings of `cudadiag run`: at a freeze or hang, and after the target has exited. Keeps or removes the
// session.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "diagnose/facts/report_model.h"
#include "launch/signals.h"
#include "run/failure_sinks.h"
#include "shared_options.h"
#include "supervise/record_pass.h"

namespace cudadiag::command {

class RunReport {
 public:
  // `recording` and `options` must outlive this object. If nothing is recorded, or no session can be kept, the
  // constructor prints the reason.
  RunReport(supervise::Recording& recording, const RunOptions& options);

  // Reports a freeze while the target is still running, once for each process.
  void report_freeze();
  // Call this before killing a target that has made no progress for `seconds`.
  void report_hang(double seconds, launch::SignalRelay& relay);
  // Reports operations that hang, and operations that were reported as hanging but have finished. The target keeps
  // running.
  void report_stalls(const supervise::StallNews& news);
  // Call this before finish(), after the target has exited. Reports only the operations that finished after being
  // reported as hanging. finish() reports those that still hang.
  void note_stalls(const supervise::StallNews& news);
  // Call this after the target has exited. Finishes the session, and reports everything that has not been reported yet.
  void finish(const supervise::RunEnd& end);

  // Returns the diagnosis of everything recorded so far. After finish(), the diagnosis is complete.
  const diagnose::Diagnosis& report() { return recording_.state().diagnosis(); }
  bool findings() const { return findings_; }
  // True if some pairs of kernels may race, but no race was found. The session is then kept for a rerun.
  bool open_pairs() const { return open_pairs_; }
  // Call this after the reruns. Removes the session if it has no findings.
  void drop_if_clean();

 private:
  // Prints which data could not be stored.
  void print_unstored(const supervise::Stored& stored) const;
  void print_ended(const supervise::StallNews& news) const;
  // Prints the report and remembers its findings. Prints a report without findings only if no findings have been
  // printed yet.
  void print_report(diagnose::Diagnosis report);
  bool was_reported(const diagnose::Finding& finding) const;
  // Returns the diagnosis without the findings that have already been reported.
  diagnose::Diagnosis unreported();
  // Returns true if the session contains nothing that the user may want to see.
  bool is_clean();
  void keep_session();
  void print_rest();
  void print_end(const supervise::RunEnd& end, bool may_have_kept);
  // Returns the end of a message, such as "; cudadiag has stopped looking for hangs". Returns "" if cudadiag was not
  // looking for anything.
  std::string no_longer_sought() const;

  supervise::Recording& recording_;
  const RunOptions& options_;
  FailureSinks sinks_;
  std::set<std::uint32_t> reported_;                    // pids of the processes whose failure has been reported
  std::map<std::size_t, std::string> reported_stalls_;  // by stall number, the location that was reported for the stall
  bool findings_ = false;
  bool open_pairs_ = false;
};

}  // namespace cudadiag::command
