// The record pass of one `cudadiag run`: the memory and the session that the target records to. Whatever fails here
// costs the report, never the target. Used on the launcher's main thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "diagnose/session_state.h"
#include "launch/arena.h"
#include "launch/environment.h"
#include "launch/process.h"
#include "session/session_writer.h"
#include "supervise/full_log.h"
#include "supervise/python_start.h"
#include "supervise/stall_watch.h"

namespace cudadiag::supervise {

struct RecordingOptions {
  std::vector<std::string> command;
  std::vector<session::CodeRule> code_rules;
  std::optional<std::string> output;  // the folder of sessions; by default the user's own
  wire::RecordOptions record;
  std::vector<std::string> watch;   // lines of Python whose latest values are kept, FILE:LINE
  std::string window;               // what this run waits for (wire/rerun/window.h); empty: nothing
  bool full_log = false;            // every operation is kept
  std::optional<NansOptions> nans;  // PyTorch's operators are checked, and nothing else is recorded
  bool tensor_races = false;        // likewise for races between their tensors

  // Code of ours runs in the command's Python, in the place of the recorder.
  bool runs_python() const { return nans.has_value() || tensor_races; }
};

struct RunEnd {
  session::ProcessEnd end;
  std::map<std::uint32_t, session::ProcessEnd> ends;  // by pid, of all that were reaped
  std::vector<std::uint32_t> outliving;               // pids that still run
  bool interrupted = false;                           // somebody has asked it to end
};

// The result of storing the session.
struct Stored {
  std::vector<base::Error> given_up;  // logs that made room for the recording
  std::optional<base::Error> loss;    // why the session is not whole; told once
};

class Recording {
 public:
  // `options` outlives this.
  explicit Recording(const RecordingOptions& options);

  // Why the target must not be started: the user asked for a session in a folder that cannot hold one.
  const std::optional<base::Error>& refusal() const { return refusal_; }
  // Why no session will be kept.
  const std::optional<base::Error>& obstacle_to_keeping() const { return no_session_; }
  // A warning about an injection that this recording replaced; empty: there was none.
  const std::string& dropped_injection() const { return dropped_injection_; }

  launch::Arena* arena() { return arena_ ? &*arena_ : nullptr; }
  std::vector<std::string> environment() const;
  const session::Manifest& manifest() const { return manifest_; }
  session::Session& session() { return session_; }
  const session::Session& session() const { return session_; }
  // The diagnosis of the session as it was read last, with the reruns that were added to it since.
  diagnose::SessionState& state();
  // Null: there is none, as nothing was found or nothing could be written.
  session::SessionWriter* writer() { return writer_ ? &*writer_ : nullptr; }
  const session::SessionWriter* writer() const { return writer_ ? &*writer_ : nullptr; }
  // Nothing: they were not looked for.
  const std::optional<session::Races>& races() const { return races_; }
  bool hung() const { return manifest_.hang.has_value(); }
  // Its folder is there, whole or not.
  bool keeps_session() const;
  // All that was recorded is in the session's folder, as far as is known.
  bool is_whole() const { return whole_; }
  // Failures of recordings beside the areas.
  const std::vector<base::Error>& failures() const { return failures_; }
  // A sentence about processes that could not be recorded, after note_end(); empty: there are none.
  const std::string& unrecorded() const { return unrecorded_; }

  // The log that is kept beside the areas, while the target runs and until close(); given up if there is no room for
  // both.
  void use_full_log(FullLog* log) { full_log_ = log; }

  // The session is what was recorded by now.
  void read();
  // Likewise; there has been no progress for that many seconds, and the target is about to be ended: its later actions
  // are not read.
  void read_hang(double seconds);
  // The target is asked to end: where its ranks are is read before it does anything about that.
  void read_host_stacks();

  // Operations that do not end, and some of these that have ended; the session is what was recorded by now.
  void read_stalls(const StallNews& news);
  // Likewise, once the target has ended. Before note_end().
  void note_stalls(const StallNews& news);

  // Before note_end().
  void note_failures(std::vector<base::Error> failures);
  void note_input(bool read) { manifest_.input_read = read; }
  void add_races(session::Races races) { races_ = std::move(races); }
  // The target was ended from here, at this.
  void note_early_end(session::CutShort at) { manifest_.passes.front().cut_short = at; }
  // Takes the GPU core dump of the target, if it was to write one. Before note_end().
  void take_own_dump(launch::SignalRelay& relay);
  // The target has ended, and the session is all that it recorded.
  void note_end(const RunEnd& end);

  // Stores areas and manifest in their present state. There must be a writer.
  Stored store();
  // After note_end(): stores what is known now and finishes the session's folder.
  Stored store_last();
  // The failure, if the session was whole until then.
  std::optional<base::Error> close();
  // Removes the session.
  void discard();

 private:
  // The session's folder and the memory that targets record to, as far as they could be made.
  void open_places(std::time_t now);
  void open_folder(std::time_t now);
  void open_memory();
  void choose_variables();
  void choose_python_variables();
  double seconds_so_far() const;
  void read_areas();
  std::optional<base::Error> store_recording();
  // Notes what could not be stored before.
  std::optional<base::Error> store_manifest();

  const RecordingOptions& options_;
  std::chrono::steady_clock::time_point started_;
  std::chrono::system_clock::time_point started_at_;
  session::Manifest manifest_;  // what the launcher itself knows; `session_` adds what was read
  session::Session session_;
  std::optional<diagnose::SessionState> state_;  // of session_; nothing: not asked for since it was read
  std::vector<launch::Variable> variables_;
  std::optional<launch::Arena> arena_;
  std::optional<session::SessionWriter> writer_;
  std::optional<session::Races> races_;
  FullLog* full_log_ = nullptr;
  std::optional<base::Error> refusal_, no_session_;
  std::optional<base::Error> not_stored_;  // of the recording, when that was last tried
  std::vector<base::Error> failures_;
  std::string dropped_injection_, unrecorded_;
  bool whole_ = true;
};

}  // namespace cudadiag::supervise
