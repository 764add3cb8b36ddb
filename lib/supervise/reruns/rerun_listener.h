// Events in a sequence of reruns, for code that prints them. All calls are on the thread that runs the sequence.
#pragma once

#include <cstdint>
#include <filesystem>

#include "analyse/analysis.h"
#include "session/session.h"
#include "supervise/reruns/rerun.h"

namespace cudadiag::supervise {

// A step that a sequence could not take. The sequence continues without that step, except after `impossible`.
struct RerunProblem {
  enum class Kind {
    impossible,              // the command cannot be run again: `failure`
    not_stored,              // a part of the session could not be stored: `failure`
    cannot_end,              // process `pid` of the rerun could not be ended and is left running
    debugger_asked_already,  // the debugger has already read the only GPU core dump
    no_dump_to_check,
    debugger_failed,  // the debugger could not read `file`: failure.what
    no_suspected_kernel,
    no_sanitizer,
    nothing_confirmed,   // so nothing was saved
    nothing_saved,       // a call was confirmed, but no part of it was saved
    replay_not_started,  // failure.what
    no_launch_saved,
  };
  Kind kind = Kind::impossible;
  base::Error failure{};
  std::filesystem::path file{};
  int pid = 0;
};

// The rerun that was last added to the session.
struct RerunEnded {
  const RerunSpec& spec;
  const session::Session& session;
  const analyse::Analysis& analysis;
  bool interrupted = false;
  bool dump_asked = false;  // a process has received the request for a dump

  const session::Pass& pass() const { return session.manifest.passes.back(); }
  const analyse::Rerun& judged() const { return analysis.reruns.back(); }
};

class RerunListener {
 public:
  RerunListener() = default;
  virtual ~RerunListener() = default;
  RerunListener(const RerunListener&) = delete;
  RerunListener& operator=(const RerunListener&) = delete;

  // `number` is 1 for the session's first rerun.
  virtual void begins(const RerunSpec& spec, std::size_t number) = 0;
  // Called several times a second while the program runs. `operations` is how many operations the program has issued;
  // nullopt if they are not recorded.
  virtual void runs(const RerunSpec& spec, std::optional<std::uint64_t> operations) = 0;
  // The program has ended, or was ended.
  virtual void stops() = 0;
  virtual void ended(const RerunEnded& rerun) = 0;
  virtual void cannot(const RerunProblem& problem) = 0;
};

}  // namespace cudadiag::supervise
