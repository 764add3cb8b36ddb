// Decides whether a failed run may be repeated without asking the user: only if the rerun is quick and isolated.
#pragma once

#include <optional>
#include <string>

#include "launch/input.h"
#include "session/session.h"

namespace cudadiag::supervise {

struct RerunObstacle {
  enum class Kind {
    under_another_launcher,
    ended_early,  // by cudadiag
    hung,
    ended_from_outside,
    failed_late,
    took_long,
    one_rank,
    several_nodes,
    input,
    not_isolated,
  };
  Kind kind = Kind::hung;
  std::string detail{};  // why the input cannot be read again, why cudadiag ended it, or what isolation lacks
  double seconds = 0;    // until it failed or ended
  int number = 0;        // a process id, or the number of ranks in the job
};

// A reason in the run itself against any rerun, even one that the user agreed to.
std::optional<RerunObstacle> obstacle_in_run(const session::Session& session);
// A reason against a rerun that the user did not agree to. `isolated` says whether the rerun would be isolated.
std::optional<RerunObstacle> obstacle_to_rerun(const session::Session& session, const launch::Input& input,
                                               bool isolated);

}  // namespace cudadiag::supervise
