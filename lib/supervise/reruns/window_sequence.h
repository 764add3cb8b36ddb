// The windows in which reruns wait, in order, until the failure is proven or no wider window can show more.
#pragma once

#include <optional>

#include "analyse/reruns/rerun_window.h"
#include "supervise/reruns/rerun_options.h"

namespace cudadiag::supervise {

struct WindowStep {
  analyse::RerunWindow window;
  bool without_values = false;  // because reading values may be why the previous rerun did not fail
};

// Each call of next() returns the step for one rerun. Pass the rerun's result to note() before the next call.
class WindowSequence {
 public:
  // `plan` must outlive this object.
  explicit WindowSequence(const RerunPlan& plan);

  // Returns the next step, based on what is known now; nullopt if the search is over.
  std::optional<WindowStep> next(const analyse::Analysis& analysis);
  void note(const analyse::Rerun& rerun);

 private:
  enum class State { first, again, wider, over };
  std::optional<analyse::RerunWindow> next_window(const analyse::Analysis& analysis);

  const RerunPlan& plan_;
  State state_ = State::first;
  int reach_, last_;  // the next and the last analyse::Reach
  analyse::RerunWindow window_;
  unsigned passed_ = 0;  // reruns in this window that did not fail
  // The outcome of a rerun that reading values may have changed.
  std::optional<analyse::Rerun::Outcome> with_values_;
  bool without_values_ = false;
};

}  // namespace cudadiag::supervise
