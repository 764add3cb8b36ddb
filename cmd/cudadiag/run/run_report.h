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
  // `recording` and `options` must outlive this object. Prints a message if nothing is recorded or no session can be
  // kept.
  RunReport(supervise::Recording& recording, const RunOptions& options);

  // Reports a frozen recording while the target continues, once for each process.
  void report_freeze();
  // Call this before ending the target because it has made no progress for that many seconds.
  void report_hang(double seconds);
  // Reports operations that hang, or have finished after all. The target continues.
  void report_stalls(const supervise::StallNews& news);
  // The same after the target has ended. Call this before finish().
  void note_stalls(const supervise::StallNews& news);
  // Call this after the target has ended. Finishes the session and reports everything that was not reported earlier.
  void finish(const supervise::RunEnd& end);

  // Valid after finish(). The diagnosis of everything recorded so far.
  const diagnose::Diagnosis& report() { return recording_.state().diagnosis(); }
  bool findings() const { return findings_; }
  // Whether pairs of kernels may still race, although nothing was found. In that case, the session is kept for a rerun.
  bool open_pairs() const { return open_pairs_; }
  // Call this after the reruns. Removes a session without a finding.
  void drop_if_clean();

 private:
  // Prints what could not be stored.
  void tell(const supervise::Stored& stored) const;
  void print_ended(const supervise::StallNews& news) const;
  // Prints the report, and remembers what it contained. Prints no empty report after one with findings.
  void tell(diagnose::Diagnosis report);
  bool was_told(const diagnose::Finding& finding) const;
  // The diagnosis without the findings that were already reported.
  diagnose::Diagnosis untold();
  // Whether there is nothing in the session that the user may want to see.
  bool is_clean();
  void keep_session();
  void print_rest();
  void print_end(const supervise::RunEnd& end, bool may_have_kept);
  // Prints which old sessions were removed to make room for this one.
  void print_removed() const;
  // Names the searches that ended with the command ("hangs", "races"); empty if there are none.
  std::string no_longer_sought() const;

  supervise::Recording& recording_;
  const RunOptions& options_;
  FailureSinks sinks_;
  std::set<std::uint32_t> told_;                    // processes whose failure has been reported
  std::map<std::size_t, std::string> told_stalls_;  // by stall number: the place that was reported
  bool findings_ = false;
  bool open_pairs_ = false;
};

}  // namespace cudadiag::command
