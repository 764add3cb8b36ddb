// The record pass of one `cudadiag run`: the memory and the session that the target records to. A failure here may cost
// the user the report, but never affects the target. Use only on the launcher's main thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "diagnose/session_state.h"
#include "launch/arena.h"
#include "launch/environment.h"
#include "launch/gpu_usage.h"
#include "launch/signals.h"
#include "session/session_writer.h"
#include "supervise/created_files.h"
#include "supervise/full_log_collector.h"
#include "supervise/hang_watch.h"
#include "supervise/hook_config.h"

namespace cudadiag::supervise {

struct RecordingOptions {
  std::vector<std::string> command;
  std::vector<std::string> options, rerun_options;  // as in session::Manifest
  std::vector<session::CodeRule> code_rules;
  std::optional<std::filesystem::path> output;  // folder for sessions; nullopt: the user's default folder
  wire::RecordOptions record;
  std::vector<std::string> watch;   // Python lines (FILE:LINE) whose latest values to keep
  std::string window;               // what this run waits for (wire/rerun.h); empty: nothing
  bool full_log = false;            // keep every operation
  bool graph_memory = false;        // find graphs that use memory of other tensors; also runs our Python code
  std::optional<NansOptions> nans;  // check PyTorch's operators for NaN, and record nothing else
  bool tensor_races = false;        // check PyTorch's tensors for races, and record nothing else

  // Returns whether the run uses our Python code instead of the recorder.
  bool runs_python() const { return nans.has_value() || tensor_races; }
};

struct RunEnd {
  session::ProcessEnd end;
  std::map<std::uint32_t, session::ProcessEnd> ends;  // by pid, for all processes that the launcher reaped
  std::vector<std::uint32_t> outliving;               // pids of processes that still run
  bool interrupted = false;                           // a signal asked the run to end
};

struct Stored {
  std::vector<base::Error> given_up;  // a message for each log that was removed to make room
  std::optional<base::Error> loss;    // why the session is incomplete; reported only once
};

class Recording {
 public:
  // `options` must outlive this object.
  explicit Recording(const RecordingOptions& options);

  // Returns an error if the target must not be started: a library of cudadiag's is damaged, or the folder that the user
  // chose cannot contain a session.
  const std::optional<base::Error>& refusal() const { return refusal_; }
  // Returns why no session will be kept; nullopt if a session will be kept.
  const std::optional<base::Error>& obstacle_to_keeping() const { return no_session_; }
  // Warnings about libraries of the user that this run goes without.
  const std::vector<std::string>& warnings() const { return warnings_; }

  launch::Arena* arena() { return arena_ ? &*arena_ : nullptr; }
  // Empty if the run uses only Python code.
  const std::filesystem::path& recorder() const { return recorder_; }
  // The variables that tell the target's processes to record.
  const std::vector<launch::Variable>& variables() const { return variables_; }
  std::vector<std::string> environment() const;
  const session::Manifest& manifest() const { return session_.manifest; }
  session::Session& session() { return session_; }
  const session::Session& session() const { return session_; }
  // Returns the diagnosis of the session as it was last read, including any reruns since then.
  diagnose::SessionState& state();
  // Null without a session folder.
  session::SessionWriter* writer() { return writer_ ? &*writer_ : nullptr; }
  const session::SessionWriter* writer() const { return writer_ ? &*writer_ : nullptr; }
  // nullopt if the run did not look for races.
  const std::optional<session::Races>& races() const { return races_; }
  bool hung() const { return session_.manifest.hang.has_value(); }
  // Returns whether there is a folder for the session, complete or not.
  bool keeps_session() const;
  // Returns false once a part of the recording could not be stored in the session's folder.
  bool is_whole() const { return whole_; }
  // The errors that note_failures() received.
  const std::vector<base::Error>& failures() const { return failures_; }
  // Sentences about processes that the recorder reached but could not record. Valid after note_end().
  const std::vector<std::string>& unrecorded() const { return unrecorded_; }
  // Returns whether a process of the target was a launcher, which records its own target. Valid after note_end().
  bool holds_launcher() const { return holds_launcher_; }
  // If another launcher started this one, makes its holds_launcher() return true.
  static void tell_outer_launcher();
  // Returns whether nothing could be recorded or no operator was checked, or whether a process that uses a GPU was not
  // recorded. The absence of a finding then proves nothing. Valid after note_end().
  bool is_void() const;

  // Sets the log that is stored with the areas. `log` must exist until close(). If the disk has no room for both the
  // log and the areas, the log is removed.
  void use_full_log(FullLogCollector* log) { full_log_ = log; }
  // Once a process has failed, adds a note for each Xid. `xids` must exist until note_end() has returned.
  void use_xids(launch::XidEvents* xids) { xids_ = xids; }

  // Lists the program's folders before it starts, so that reruns can begin as this run does.
  void note_beginning() { beginning_ = FolderSnapshot::list(options_.command); }

  // Reads into the session what has been recorded so far.
  void read();
  // Returns whether the driver is writing a GPU core dump of a process because of an exception.
  bool is_being_dumped();
  // Returns whether the driver may write GPU core dumps of the target.
  bool may_be_dumped() const { return writer_ && options_.record.once; }
  // Like read(), for a run that has hung for `seconds`. Call this before terminating the target: its later actions are
  // not read. If the target may be dumped, first requests a dump, and waits for it.
  void read_hang(double seconds, launch::SignalRelay& relay);
  // Reads the Python stacks of the ranks. Call this before the target is asked to terminate.
  void read_host_stacks();

  // Notes operations that hang, and operations that hung but then finished. Also reads what has been recorded so far.
  void read_stalls(const StallNews& news);
  // Like read_stalls(), but reads nothing. Call this when the target has ended, before note_end().
  void note_stalls(const StallNews& news);

  // Notes that a process uses a GPU, but is not recorded. Call this before note_end().
  void note_unreached(const std::string& what);
  // Call this before note_end().
  void note_failures(std::vector<base::Error> failures);
  void note_input(bool read) { session_.manifest.input_read = read; }
  void add_races(session::Races races) { races_ = std::move(races); }
  // Notes the reason why the launcher terminated the target.
  void note_early_end(session::CutShort at) { session_.manifest.passes.front().cut_short = at; }
  // Returns whether the driver has written a core dump of a process that has not ended yet.
  bool is_ended_by_driver();
  // If the options requested a GPU core dump of the target, adds it to the session. Call this before note_end().
  void take_own_dump();
  // Notes how the target ended, and reads everything that it recorded.
  void note_end(const RunEnd& end);

  // Stores the areas and the manifest as they are now. Requires a writer.
  Stored store();
  // Stores the final state of the recording. Call this after note_end().
  Stored store_last();
  // Finishes the session's folder. Returns a failure only if all earlier attempts to store something succeeded.
  std::optional<base::Error> close(const session::Retention& retention);
  // Removes the session.
  void discard();

 private:
  // Creates the session's folder and the memory that targets record to. Either may fail.
  void open_places(std::time_t now);
  void open_folder(std::time_t now);
  void open_memory();
  // Sets `recorder_`, or the reason why nothing can be recorded.
  void find_recorder();
  void choose_variables();
  void choose_python_variables();
  double seconds_so_far() const;
  void read_areas();
  void add_graph_memory();
  // Reads the code of kernels that may have failed, from the images that the recorder stored.
  void add_kernel_code();
  // Stores what the program has created, if a rerun may be wanted.
  void store_created();
  std::optional<base::Error> store_recording();
  // Stores the manifest, with a note on what could not be stored earlier.
  std::optional<base::Error> store_manifest();

  const RecordingOptions& options_;
  std::chrono::steady_clock::time_point started_;
  std::chrono::system_clock::time_point started_at_;
  std::optional<FolderSnapshot> beginning_;
  session::Session session_;
  std::optional<diagnose::SessionState> state_;  // of `session_`; reset by each read, and set by state()
  std::filesystem::path recorder_;
  std::vector<launch::Variable> variables_;
  std::optional<launch::Arena> arena_;
  std::optional<session::SessionWriter> writer_;
  std::optional<session::Races> races_;
  std::string disassembler_;  // for the code of kernels that may have failed; empty if no code is read
  std::vector<std::string> read_kernels_;
  std::vector<session::KernelCode> kernel_code_;  // code of `read_kernels_`
  FullLogCollector* full_log_ = nullptr;
  launch::XidEvents* xids_ = nullptr;
  std::optional<base::Error> refusal_, no_session_;
  std::optional<base::Error> not_stored_;  // why the last attempt to store the recording failed
  std::vector<base::Error> failures_;
  std::vector<std::string> warnings_, unrecorded_;
  bool whole_ = true, void_ = false, holds_launcher_ = false;
};

}  // namespace cudadiag::supervise
