// The messages of `cudadiag run` about the recording: at a freeze or hang while the target runs, and at its end.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "diagnose/diagnosis.h"
#include "run/run_options.h"
#include "supervise/recording.h"

namespace cudadiag::command {

class RunReport {
 public:
  // Both outlive this. Says what is missing for a recording.
  RunReport(supervise::Recording& recording, const RunOptions& options);

  // Reports a frozen picture while the target continues, once for each process.
  void report_freeze();
  // The target is about to be ended, because there has been no progress for that many seconds.
  void report_hang(double seconds);
  // Operations do not end, or have ended after all. The target continues.
  void report_stalls(const supervise::StallNews& news);
  // Likewise, once the target has ended. Before finish().
  void note_stalls(const supervise::StallNews& news);
  // The target has ended: finishes the session and reports what was not reported before.
  void finish(const supervise::RunEnd& end);

  // After finish(). The diagnosis of everything recorded so far.
  const diagnose::Diagnosis& report() { return recording_.state().diagnosis(); }
  bool findings() const { return findings_; }
  // Without a finding, pairs of kernels may still race. A rerun can decide this, so the session is kept.
  bool open_pairs() const { return open_pairs_; }
  // After reruns: a session without a finding goes.
  void drop_if_clean();

 private:
  // Says once that something could not be stored.
  void tell(const supervise::Stored& stored) const;
  void print_ended(const supervise::StallNews& news) const;
  // Prints what has not been printed before.
  void tell(diagnose::Diagnosis report);
  bool was_told(const diagnose::Finding& finding) const;
  // The diagnosis without the processes whose failure was reported.
  diagnose::Diagnosis untold();
  // There is nothing to find in the session.
  bool is_clean();
  void keep_session();
  void print_rest();
  void print_end(const supervise::RunEnd& end, bool may_have_kept);
  // Names the number of old sessions that this one replaced.
  void print_removed() const;
  // Names the searches that ended with the command ("hangs", "races"); empty if none.
  std::string no_longer_sought() const;

  supervise::Recording& recording_;
  const RunOptions& options_;
  FailureSinks sinks_;
  std::set<std::uint32_t> told_;                    // processes whose failure has been reported
  std::map<std::size_t, std::string> told_stalls_;  // by number: the place that was reported
  bool findings_ = false;
  bool open_pairs_ = false;
};

}  // namespace cudadiag::command
