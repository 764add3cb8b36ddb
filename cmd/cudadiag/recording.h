// The record pass of one `cudadiag run`: the arena, the session and what is reported of them. Whatever fails here
// costs the report, never the target.
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "commands.h"
#include "launch/arena.h"
#include "report/report.h"
#include "session/session_writer.h"
#include "supervise/full_log.h"

namespace cudadiag::command {

class Recording {
 public:
  explicit Recording(const RunOptions& options);

  // Why the target is not to be started at all: it was asked to keep the session where none can be kept.
  const std::optional<session::Failure>& refusal() const { return refusal_; }
  launch::Arena* arena() { return arena_ ? &*arena_ : nullptr; }
  std::vector<std::string> environment() const;

  // The picture froze somewhere: reports it while the target goes on, each process once.
  void report_freeze();
  // There has been no progress for so many seconds, and the target is about to be ended: later reports say what is
  // known now.
  void report_hang(double seconds);
  // The target has ended, but for `outliving`: finishes the session and reports what has not been told of yet.
  // `interrupted`: somebody has asked it to end.
  void finish(const session::ProcessEnd& end, const std::map<std::uint32_t, session::ProcessEnd>& ends,
              const std::vector<std::uint32_t>& outliving, bool interrupted);
  // Failures of recordings beside the areas, before finish(); printed if the session is kept.
  void note_failures(std::vector<session::Failure> failures);
  // Whether the target read its standard input, before finish().
  void note_input(bool read) { manifest_.input_read = read; }
  // The races that were found, before finish().
  void add_races(session::Races races) { races_ = std::move(races); }
  // The target was ended from here, at this.
  void note_early_end(const std::string& at) { manifest_.passes.front().cut_short = at; }
  // The log that is kept beside the areas, while the target runs and until finish(); given up if there is no room for
  // both.
  void use_full_log(supervise::FullLog* log) { full_log_ = log; }
  // The target could not be started.
  void abandon();

  // After finish(). Null: there is none, as nothing was found or nothing could be written.
  session::SessionWriter* writer() { return writer_ ? &*writer_ : nullptr; }
  // Its folder is there, whole or not.
  bool keeps_session() const;
  session::Session& session() { return session_; }
  // The report on everything recorded so far. It takes the symbols of all modules that lead to the findings: made once,
  // and again when reruns have added to the session.
  const report::Report& report();
  void look_again() { report_.reset(); }
  bool findings() const { return findings_; }
  // There is no finding, but pairs of kernels of which a rerun may say whether they race: the session is kept for it.
  bool open_pairs() const { return open_pairs_; }
  // After reruns: a session without a finding goes.
  void drop_if_clean();
  bool hung() const { return manifest_.hang.has_value(); }

 private:
  // The session's folder and the memory that targets record to, as far as they can be had.
  void open_places(std::time_t now);
  double seconds_so_far() const;
  void read();
  // Areas and manifest, as they are now; what could not be written is said once.
  void store();
  std::optional<session::Failure> store_recording();
  // Says what could not be stored before.
  std::optional<session::Failure> store_manifest();
  // Prints what has not been told of before.
  void tell(report::Report report);
  void tell_rest();
  void tell_no_race() const;
  // Names the number of old sessions that this one replaced.
  void tell_removed() const;
  // Names the searches that ended with the command ("hangs", "races"); empty if none.
  std::string no_longer_sought() const;
  // True: it has said why nothing was recorded at all.
  bool explain_silence(const session::ProcessEnd& end, bool interrupted, const report::Report& report) const;

  const RunOptions& options_;
  std::chrono::steady_clock::time_point started_;
  std::chrono::system_clock::time_point started_at_;
  session::Manifest manifest_;  // what the launcher itself knows; `session_` adds what was read
  session::Session session_;
  std::optional<report::Report> report_;
  std::vector<launch::Variable> variables_;
  std::optional<launch::Arena> arena_;
  std::optional<session::SessionWriter> writer_;
  std::optional<session::Races> races_;
  supervise::FullLog* full_log_ = nullptr;
  std::optional<session::Failure> not_stored_;  // of the recording, when that was last tried
  std::set<std::uint32_t> told_;                // processes whose failure has been reported
  std::vector<session::Failure> failures_;
  std::optional<session::Failure> refusal_;
  std::string unrecorded_;  // what is said of processes that could not be recorded; empty: there are none
  bool findings_ = false;
  bool open_pairs_ = false;
  bool kept_whole_ = true;
};

}  // namespace cudadiag::command
