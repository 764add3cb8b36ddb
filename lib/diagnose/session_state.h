// A session at one moment, with its analysis and diagnosis. The code that plans reruns reads the same state as the
// writers, so it uses the facts that the user sees. Each state is analysed only once. The diagnosis is built at the
// first request, because resolving symbols takes time. Not safe for use by several threads at once.
#pragma once

#include <memory>
#include <optional>

#include "analyse/analysis.h"
#include "diagnose/facts/report_model.h"
#include "session/session.h"
#include "symbolize/symbolizer.h"
#include "symbolize/tool_results.h"

namespace cudadiag::diagnose {

class EagerReruns;

class SessionState {
 public:
  // `session` must outlive this object. After a rerun has extended the session in place, call advance().
  explicit SessionState(const session::Session& session);
  // Takes over an analysis that the caller already has.
  SessionState(const session::Session& session, analyse::Analysis analysis);
  ~SessionState();
  SessionState(const SessionState&) = delete;
  SessionState& operator=(const SessionState&) = delete;

  const session::Session& session() const { return session_; }
  symbolize::Symbolizer& symbolizer() { return symbolizer_; }

  // The first failures, their candidates and grades. The evidence of a GPU core dump is included.
  const analyse::Analysis& analysis();
  // Everything that the writers print.
  const Diagnosis& diagnosis();
  // The reruns without torch.compile as a session of their own; null if there were none.
  EagerReruns* eager();

  // Call this before diagnosis() if the session is part of a job. `ranks` and `groups` say where the job's ranks
  // diverge; nullopt if they do not diverge.
  void set_job(std::optional<RanksPart> ranks, std::optional<GroupsPart> groups);

  // Call this after removing the session's folder, so that the diagnosis does not contain its path.
  void folder_removed();

  // Call this when the session has a new rerun, or its manifest has changed. Invalidates references returned earlier.
  void advance();

 private:
  const symbolize::ToolResults& results();
  // Narrows down the candidates by the GPU core dump. Call this after each new analysis.
  void weigh();

  const session::Session& session_;
  symbolize::Symbolizer symbolizer_;
  std::optional<symbolize::ToolResults> results_;
  std::optional<analyse::Analysis> analysis_;
  std::optional<Diagnosis> diagnosis_;
  std::unique_ptr<EagerReruns> eager_;
  std::optional<RanksPart> job_;
  std::optional<GroupsPart> groups_;
  bool folder_removed_ = false;
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
