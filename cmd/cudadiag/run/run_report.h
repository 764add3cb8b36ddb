// The messages of `cudadiag run` about what it recorded: at a freeze or a hang, while the target is still running, and
// at its end.
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
  // `recording` and `options` must outlive this object. If nothing is recorded, or no session can be kept, prints why.
  RunReport(supervise::Recording& recording, const RunOptions& options);

  // Reports a freeze while the target continues, once for each process.
  void report_freeze();
  // Call this before ending a target that has made no progress for `seconds`.
  void report_hang(double seconds);
  // Reports operations that hang, and those that finished after all. The target continues.
  void report_stalls(const supervise::StallNews& news);
  // Reports only the operations that finished after all, and leaves those that hang to finish(). Call this before
  // finish(), when the target has ended.
  void note_stalls(const supervise::StallNews& news);
  // Call this after the target has ended. Finishes the session, and reports whatever has not been reported.
  void finish(const supervise::RunEnd& end);

  // Valid after finish(): the diagnosis of everything recorded so far.
  const diagnose::Diagnosis& report() { return recording_.state().diagnosis(); }
  bool findings() const { return findings_; }
  // Whether there are pairs of kernels that may race, although no race was found. The session is then kept for a rerun.
  bool open_pairs() const { return open_pairs_; }
  // Call this after the reruns. Removes a session without findings.
  void drop_if_clean();

 private:
  // Prints what could not be stored.
  void tell(const supervise::Stored& stored) const;
  void print_ended(const supervise::StallNews& news) const;
  // Prints the report, and notes what was in it. Never prints a report without findings after one with findings.
  void tell(diagnose::Diagnosis report);
  bool was_told(const diagnose::Finding& finding) const;
  // Returns the diagnosis without the findings that have been reported.
  diagnose::Diagnosis untold();
  // Whether the session has nothing that the user may want to see.
  bool is_clean();
  void keep_session();
  void print_rest();
  void print_end(const supervise::RunEnd& end, bool may_have_kept);
  // Prints which old sessions were removed to make room for this one.
  void print_removed() const;
  // Returns what cudadiag stopped looking for when the command ended ("hangs", "races"); empty if nothing.
  std::string no_longer_sought() const;

  supervise::Recording& recording_;
  const RunOptions& options_;
  FailureSinks sinks_;
  std::set<std::uint32_t> told_;                    // pids of processes whose failure has been reported
  std::map<std::size_t, std::string> told_stalls_;  // where each stall was reported to be, by its number
  bool findings_ = false;
  bool open_pairs_ = false;
};

}  // namespace cudadiag::command
