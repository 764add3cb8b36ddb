// The windows in which reruns wait, one after the other, until the failure is proven or no wider one can tell more.
#pragma once

#include <optional>

#include "analyse/reruns/rerun_window.h"
#include "supervise/reruns/rerun_options.h"

namespace cudadiag::supervise {

struct WindowStep {
  analyse::RerunWindow window;
  bool without_values = false;  // as taking them may be why the rerun before did not fail
};

// Each next() is one rerun, whose result goes to note() before the next one.
class WindowSequence {
 public:
  // `plan` outlives this.
  explicit WindowSequence(const RerunPlan& plan);

  // By what is known now. Nothing: the search is over.
  std::optional<WindowStep> next(const analyse::Analysis& analysis);
  void note(const analyse::Rerun& rerun);

 private:
  enum class State { first, again, wider, over };
  std::optional<analyse::RerunWindow> next_window(const analyse::Analysis& analysis);

  const RerunPlan& plan_;
  State state_ = State::first;
  int reach_, last_;  // analyse::Reach: the next one, and the last
  analyse::RerunWindow window_;
  unsigned passed_ = 0;  // reruns in this window that did not fail
  // The outcome of a rerun that taking values may have changed.
  std::optional<analyse::Rerun::Outcome> with_values_;
  bool without_values_ = false;
};

}  // namespace cudadiag::supervise
