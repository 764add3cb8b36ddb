// `cudadiag run`: runs the command under observation, prints the findings or why there are none, informs other
// programs, and keeps or removes the session.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "diagnose/facts/report_model.h"
#include "launch/signals.h"
#include "report/writers.h"
#include "session/session.h"
#include "shared_options.h"
#include "supervise/recording.h"

namespace cudadiag::command {

// Reports a failure to a user's command, to a container's termination log, and to torchrun.
class FailureNotices {
 public:
  // `options` must outlive this object.
  explicit FailureNotices(const FailureNoticeOptions& options) : options_(options) {}
  FailureNotices(const FailureNotices&) = delete;
  FailureNotices& operator=(const FailureNotices&) = delete;
  // Waits for the user's command, because a container may end as soon as this process ends. INT, TERM and HUP end this
  // process at once. Call this without a SignalRelay: it would take these signals.
  ~FailureNotices();

  // Handles the first report that has a finding, and ignores later reports. Starts the user's command, for which the
  // destructor waits. CUDADIAG_REPORT contains the path of the report.
  void inform(const diagnose::Diagnosis& report);
  // Call this if the program failed. Writes the file named by TORCHELASTIC_ERROR_FILE, unless the program has already
  // written it.
  static void write_torchrun_error(const diagnose::Diagnosis& report);

 private:
  const FailureNoticeOptions& options_;
  pid_t command_ = -1;  // a child that waits for the user's command
  bool informed_ = false;
};

// If nothing was recorded at all, prints why and returns true.
bool explain_no_recording(const supervise::Recording& recording, const RunOptions& options,
                          const supervise::RunEnd& end, const diagnose::Diagnosis& report);

// For `cudadiag nans`: prints that no NaN was found, or why no values were checked.
void print_no_nan(const supervise::Recording& recording, const diagnose::Diagnosis& report,
                  report::Verbosity verbosity);

// For `cudadiag races --tensors`: prints that no race was found, or why no operators were checked.
void print_no_tensor_race(const supervise::Recording& recording, const diagnose::Diagnosis& report,
                          report::Verbosity verbosity);

void print_no_race(const session::Races& races, report::Verbosity verbosity);

// Prints the findings: at a freeze or hang, and after the target has exited. Keeps or removes the session.
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
  // May be called on any thread.
  bool findings() const { return findings_; }
  // Returns true once the session has what the arena had at one time. May be called on any thread.
  bool stored() const { return stored_; }
  // Returns false if all findings are work that a signal interrupted, which may only be slow. May be called on any
  // thread.
  bool failed() const { return failed_; }
  // True if some pairs of kernels may race, but no race was found. The session is then kept for a rerun.
  bool open_pairs() const { return open_pairs_; }
  // Call this after the reruns. Removes the session if it has no findings.
  void drop_if_clean();

 private:
  // Call this after each attempt to store the session. Prints which data could not be stored.
  void print_unstored(const supervise::Stored& stored);
  void print_ended(const supervise::StallNews& news) const;
  // Prints the report and remembers its findings. Prints a report without findings only if no findings have been
  // printed yet.
  void print_report(diagnose::Diagnosis report);
  // For a report while the target is still running.
  void store_and_print(diagnose::Diagnosis report);
  bool was_reported(const diagnose::Finding& finding) const;
  // Returns the diagnosis without the findings that have already been reported.
  diagnose::Diagnosis unprinted();
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
  FailureNotices notices_;
  std::set<std::uint32_t> reported_;                    // pids of the processes whose failure has been reported
  std::map<std::size_t, std::string> reported_stalls_;  // by stall number, the location that was reported for the stall
  std::atomic<bool> findings_ = false, failed_ = false, stored_ = false;
  bool open_pairs_ = false;
};

// Returns an exit status if the command was not run, or if `options` sets a status for findings. Otherwise it does not
// return: this process ends with the same status or signal as the command.
int run(const RunOptions& options);

}  // namespace cudadiag::command
