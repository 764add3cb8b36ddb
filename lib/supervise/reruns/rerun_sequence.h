// Reruns a recorded command until its failure is proven, or reruns can add nothing more. Chooses the window of each
// rerun.
#pragma once

#include <optional>

#include "analyse/reruns.h"
#include "diagnose/session_state.h"
#include "launch/signals.h"
#include "session/session.h"
#include "session/session_writer.h"
#include "supervise/reruns/rerun.h"
#include "supervise/reruns/rerun_policy.h"

namespace cudadiag::supervise {

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
