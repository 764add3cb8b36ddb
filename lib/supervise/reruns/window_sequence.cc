#include "supervise/reruns/window_sequence.h"

#include <utility>

#include "supervise/reruns/passes.h"

namespace cudadiag::supervise {

namespace {

using analyse::Reach;
using Outcome = analyse::Rerun::Outcome;

}  // namespace

WindowSequence::WindowSequence(const RerunPlan& plan)
    : plan_(plan),
      reach_(static_cast<int>(plan.reach.value_or(Reach::calls))),
      last_(static_cast<int>(plan.reach.value_or(Reach::everything))) {}

std::optional<analyse::RerunWindow> WindowSequence::next_window(const analyse::Analysis& analysis) {
  const bool is_first = state_ == State::first;
  if (plan_.window) return is_first ? plan_.window : std::nullopt;
  if (is_first && !plan_.reach && !wants_proof(analysis) && !plan_.options.save_inputs) return std::nullopt;
  while (reach_ <= last_) {
    auto window = analyse::rerun_window(analysis, static_cast<Reach>(reach_++));
    // A rerun with an empty window waits for nothing, and one with the same window as before adds nothing.
    if (!window.text.empty() && window.text != window_.text) return window;
  }
  return std::nullopt;
}

std::optional<WindowStep> WindowSequence::next(const analyse::Analysis& analysis) {
  if (state_ == State::over) return std::nullopt;
  if (state_ != State::again) {
    auto window = next_window(analysis);
    state_ = window ? State::again : State::over;
    if (!window) return std::nullopt;
    window_ = std::move(*window);
    passed_ = 0;
  }
  return WindowStep{window_, without_values_};
}

void WindowSequence::note(const analyse::Rerun& rerun) {
  const Outcome outcome = rerun.outcome;
  // With a wider window, fewer operations are outstanding at each wait.
  if (outcome == Outcome::failed || outcome == Outcome::given_up) {
    state_ = State::wider;
    return;
  }
  if (outcome != Outcome::did_not_fail && outcome != Outcome::not_reached) {
    state_ = State::over;
    return;
  }
  // Reading values may be why the rerun did not fail. A rerun that reads no values shows whether this is the reason.
  if (!with_values_ && rerun.disturbed) {
    with_values_ = outcome;
    without_values_ = true;
    return;
  }
  // A program that failed in another way twice, with values and without, does so each time.
  const bool fails_otherwise = outcome == Outcome::not_reached && rerun.end.bad && outcome == with_values_;
  without_values_ = without_values_ && outcome != with_values_;
  if (++passed_ >= plan_.options.repeat || fails_otherwise) state_ = State::over;
}

}  // namespace cudadiag::supervise
