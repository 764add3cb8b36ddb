// Events in a sequence of reruns, for code that prints them. All calls are on the thread that runs the sequence.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "analyse/analysis.h"
#include "session/session.h"
#include "supervise/reruns/rerun.h"

namespace cudadiag::supervise {

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
  // The program ended by itself, or cudadiag terminated it.
  virtual void stops() = 0;
  virtual void ended(const RerunEnded& rerun) = 0;
  virtual void cannot(const RerunProblem& problem) = 0;
};

}  // namespace cudadiag::supervise
