// One state of a session, and what is known of it. Policy, reruns and writers all read it here, so that what decides on
// a rerun is what is printed. A state is analysed once. Symbols take time, so the diagnosis is made when it is first
// asked for. One thread at a time.
#pragma once

#include <memory>
#include <optional>

#include "analyse/analysis.h"
#include "diagnose/diagnosis.h"
#include "session/session.h"
#include "symbolize/device_testimony.h"
#include "symbolize/symbolizer.h"

namespace cudadiag::diagnose {

class EagerReruns;

class SessionState {
 public:
  // `session` outlives this. It may be extended by reruns, after which advance() is due, but not replaced.
  explicit SessionState(const session::Session& session);
  // With an analysis that was made already.
  SessionState(const session::Session& session, analyse::Analysis analysis);
  ~SessionState();
  SessionState(const SessionState&) = delete;
  SessionState& operator=(const SessionState&) = delete;

  const session::Session& session() const { return session_; }
  symbolize::Symbolizer& symbolizer() { return symbolizer_; }

  // First failures, candidates and grades, with what a GPU core dump says of them.
  const analyse::Analysis& analysis();
  // All that is printed.
  const Diagnosis& diagnosis();
  // The reruns without torch.compile, as a session of their own; null: there were none.
  EagerReruns* eager();

  // The session is one part of a job, whose ranks diverge here or (nothing) not at all. Call it before diagnosis().
  void set_job(std::optional<RanksPart> ranks, std::optional<GroupsPart> groups);

  // The session has a new rerun, or its manifest has changed: it is another state. References from before dangle.
  void advance();

 private:
  const symbolize::DeviceTestimony& testimony();
  // Lets a GPU core dump have its say in a new analysis.
  void weigh();

  const session::Session& session_;
  symbolize::Symbolizer symbolizer_;
  std::optional<symbolize::DeviceTestimony> testimony_;
  std::optional<analyse::Analysis> analysis_;
  std::optional<Diagnosis> diagnosis_;
  std::unique_ptr<EagerReruns> eager_;
  std::optional<RanksPart> job_;
  std::optional<GroupsPart> groups_;
};

class EagerReruns {
 public:
  explicit EagerReruns(session::Session reruns) : session_(std::move(reruns)), state_(session_) {}

  const session::Session& session() const { return session_; }
  SessionState& state() { return state_; }

 private:
  session::Session session_;
  SessionState state_;
};

}  // namespace cudadiag::diagnose
