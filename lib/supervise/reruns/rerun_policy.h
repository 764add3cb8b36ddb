// Decides whether cudadiag may rerun a failed run without asking the user. It may only if the rerun is quick and
// isolated.
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
  std::string detail{};  // why the input cannot be read again, why cudadiag ended the run, or what isolation lacks
  double seconds = 0;    // until it failed or ended
  int number = 0;        // a process id, or the number of ranks in the job
};

// Returns a reason in the run itself against any rerun, even one that the user agreed to; nullopt if there is none.
std::optional<RerunObstacle> obstacle_in_run(const session::Session& session);
// Returns a reason against a rerun that the user did not agree to; nullopt if there is none. `isolated`: whether the
// rerun would be isolated.
std::optional<RerunObstacle> obstacle_to_rerun(const session::Session& session, const launch::Input& input,
                                               bool isolated);

}  // namespace cudadiag::supervise
