#include "diagnose/session_state.h"

#include <utility>

#include "analyse/reruns.h"
#include "diagnose/diagnosis.h"
#include "diagnose/failure/failed_access.h"
#include "diagnose/failure/tool_evidence.h"
#include "diagnose/line_resolver.h"

namespace cudadiag::diagnose {

SessionState::SessionState(const session::Session& session) : session_(session), symbolizer_(session) {}

SessionState::SessionState(const session::Session& session, analyse::Analysis analysis) : SessionState(session) {
  analysis_ = std::move(analysis);
  weigh();
}

SessionState::~SessionState() = default;

const symbolize::ToolResults& SessionState::results() {
  if (!results_) results_ = symbolize::tool_results(session_);
  return *results_;
}

const analyse::Analysis& SessionState::analysis() {
  if (!analysis_) {
    analysis_ = analyse::analyse(session_, same_line_by(symbolizer_), counted_calls_by(symbolizer_));
    weigh();
  }
  return *analysis_;
}

void SessionState::weigh() {
  weigh_by_dump(analysis_->failures, results(), session_, symbolizer_);
  drop_harmless(analysis_->failures, session_, results().failure ? results().failure->kernel : "");
  const bool by_first_run = !results().of_first_run.empty() && !analysis_->failures.empty();
  if (by_first_run) analysis_->first_grade = analysis_->failures.front().evidence.grade();
}

EagerReruns* SessionState::eager() {
  if (!eager_) {
    session::Session reruns = analyse::eager_session(session_);
    if (!reruns.processes.empty()) eager_ = std::make_unique<EagerReruns>(std::move(reruns));
  }
  return eager_.get();
}

const Diagnosis& SessionState::diagnosis() {
  if (diagnosis_) return *diagnosis_;
  std::optional<EagerAnswer> eager_answer;
  if (EagerReruns* reruns = eager()) {
    eager_answer = {&reruns->session(), &reruns->state().analysis(), &reruns->state().diagnosis()};
  }
  diagnosis_ = diagnose({session_, analysis(), results(), symbolizer_, eager_answer, job_, groups_});
  if (folder_removed_) diagnosis_->session.clear();
  return *diagnosis_;
}

void SessionState::folder_removed() {
  folder_removed_ = true;
  if (diagnosis_) diagnosis_->session.clear();
}

void SessionState::set_job(std::optional<RanksPart> ranks, std::optional<GroupsPart> groups) {
  analysis();
  analysis_->ranks.reset();
  analysis_->groups.reset();
  job_ = std::move(ranks);
  groups_ = std::move(groups);
}

void SessionState::advance() {
  results_.reset();
  analysis_.reset();
  diagnosis_.reset();
  eager_.reset();
}

}  // namespace cudadiag::diagnose
