// Reruns a recorded command once, detached from the terminal and within a time limit, or in a sequence until its
// failure is proven. Terminates the command if it makes no progress. Tells a listener, which prints, about each event.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "analyse/analysis.h"
#include "analyse/reruns.h"
#include "diagnose/session_state.h"
#include "launch/signals.h"
#include "launch/standard_descriptors.h"
#include "session/session.h"
#include "session/session_writer.h"
#include "supervise/reruns/rerun_policy.h"

namespace cudadiag::supervise {

class RerunListener;

struct RerunSpec {
  session::PassKind kind = session::PassKind::confirm;
  std::string window{};                  // see wire/rerun.h
  std::string values{};                  // see wire/rerun.h; empty: read no values
  double seconds_for_tracing = 0;        // how long it may take to trace bad values; 0: it traces none
  unsigned save_limit = 0;               // MiB of memory to save with each launch that it waits for; 0: save nothing
  bool drops_launch = false;             // the saved launch is removed after the reruns
  bool without_values = false;           // reads none, because this may have disturbed the previous rerun
  std::string waits{};                   // a description of what it waits for
  std::string sanitizer{};               // path of compute-sanitizer
  std::vector<std::string> kernels{};    // mangled names of the kernels that the sanitizer checks
  double time_limit = 0;                 // seconds
  bool dumps = false;                    // the driver writes a GPU core dump when a kernel fails
  std::optional<double> dump_after{};    // for a device pass: after how many seconds to request a dump from the driver
  std::uint64_t operations = 0;          // how many operations the first run issued, to show progress; 0 if unknown
  double expected_seconds = 0;           // its expected duration, to show progress
  bool show = false;                     // send its output to our standard error, not to a file
  const launch::Input* input = nullptr;  // null for /dev/null
  bool isolated = false;                 // it can change nothing outside
  bool one_process = false;              // only one process of the first run used CUDA
  std::uint64_t write_limit = 0;         // if it is isolated: bytes that it may write to overlays; 0: it gets none
  std::vector<std::filesystem::path> hidden{};  // what it does not see, if it has overlays
  double quiet_limit = 0;                       // end it after this many seconds without any operation; 0: no limit
};

struct RerunResult {
  session::Pass pass;
  std::vector<session::Process> processes;
  std::optional<session::Races> races;
  std::vector<std::filesystem::path> not_hidden;  // of RerunSpec::hidden
  bool interrupted = false;
  bool dump_asked = false;  // a process received the request for a dump
  bool any_left = false;    // a process could not be killed, and may still use the GPU
};

// Runs the command, and stores its recording in a new pass folder of the session. Adds notes to `session` about what
// cannot be read.
base::Result<RerunResult> rerun(const RerunSpec& spec, session::Session& session, session::SessionWriter& writer,
                                launch::SignalRelay& relay, RerunListener& listener);

// A problem in a sequence of reruns. The sequence continues, except after `impossible`.
struct RerunProblem {
  enum class Kind {
    impossible,              // the command cannot be run again: `failure`
    not_stored,              // some of the session could not be stored: `failure`
    cannot_end,              // process `pid` of the rerun could not be killed and is still running
    debugger_asked_already,  // the debugger has already read the only GPU core dump
    no_dump_to_check,
    debugger_failed,  // the debugger could not read `file`: failure.what
    no_suspected_kernel,
    no_sanitizer,
    not_for_sanitizer,  // it detects no failure of this kind
    sanitized_already,
    traced_already,
    nothing_to_trace,    // no GPU work of a Python program failed
    nothing_confirmed,   // no rerun confirmed a failure, so there is nothing to save
    nothing_saved,       // a call was confirmed, but no part of it was saved
    replay_not_started,  // failure.what
    no_launch_saved,
  };
  Kind kind = Kind::impossible;
  base::Error failure{};
  std::filesystem::path file{};
  int pid = 0;
};

// The latest rerun of the session.
struct RerunEnded {
  const RerunSpec& spec;
  const session::Session& session;
  const analyse::Analysis& analysis;
  bool interrupted = false;
  bool dump_asked = false;  // a process received the request for a dump

  const session::Pass& pass() const { return session.manifest.passes.back(); }
  const analyse::Rerun& judged() const { return analysis.reruns.back(); }
};

struct RerunProgress {
  std::optional<std::uint64_t> operations;  // how many the program has issued; nullopt if they are not recorded
  std::uint64_t dump_bytes = 0;             // what the driver has written of a GPU core dump so far
};

class RerunListener {
 public:
  RerunListener() = default;
  virtual ~RerunListener() = default;
  RerunListener(const RerunListener&) = delete;
  RerunListener& operator=(const RerunListener&) = delete;

  // `number` is 1 for the first rerun of the session.
  virtual void begins(const RerunSpec& spec, std::size_t number) = 0;
  // Called several times a second while the program runs.
  virtual void runs(const RerunSpec& spec, const RerunProgress& progress) = 0;
  // The program or the replay ended by itself, or cudadiag terminated it.
  virtual void stops() = 0;
  // Called several times a second while the saved launch is repeated under compute-sanitizer, for at most `limit`
  // seconds.
  virtual void repeats_launch(double limit) = 0;
  virtual void ended(const RerunEnded& rerun) = 0;
  virtual void cannot(const RerunProblem& problem) = 0;
};

// ---- the sequence

// Reruns the command until its failure is proven, or reruns can add nothing more. Chooses the window of each rerun.
// Adds each pass to `session` and to its folder as soon as the pass ends. `state` must belong to `session`, and is up
// to date afterwards. If a rerun could not run, tells the listener and returns false.
bool run_reruns(session::Session& session, diagnose::SessionState& state, session::SessionWriter& writer,
                launch::SignalRelay& relay, const RerunPlan& plan, RerunListener& listener);

struct WindowStep {
  analyse::RerunWindow window;
  bool without_values = false;  // reading values may be why the previous rerun did not fail
};

// next() returns the step for the next rerun. Pass that rerun's result to note() before calling next() again.
class WindowSequence {
 public:
  // `plan` must outlive this object.
  explicit WindowSequence(const RerunPlan& plan);

  // Returns nullopt if the search is over.
  std::optional<WindowStep> next(const analyse::Analysis& analysis);
  void note(const analyse::Rerun& rerun);

 private:
  enum class State { first, again, wider, over };
  std::optional<analyse::RerunWindow> next_window(const analyse::Analysis& analysis);

  const RerunPlan& plan_;
  State state_ = State::first;
  int reach_, last_;  // the next and the last analyse::WindowReach
  analyse::RerunWindow window_;
  unsigned passed_ = 0;  // how many reruns in this window did not fail
  // The outcome of the rerun that read values and did not fail; nullopt if there was none. Reading the values may be
  // the reason.
  std::optional<analyse::Rerun::Outcome> with_values_;
  bool without_values_ = false;
};

}  // namespace cudadiag::supervise
