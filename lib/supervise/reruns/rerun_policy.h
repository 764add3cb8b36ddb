// Decides whether cudadiag may rerun a failed run without asking the user. The rerun must be quick and isolated.
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
    mps,
    input,
    not_isolated,
    exposed,  // another user can replace the session's folder, so the rerun could write through links
  };
  Kind kind = Kind::hung;
  std::string detail{};  // why the input cannot be read again, why cudadiag ended the run, what isolation lacks, or
                         // the exposed folder
  double seconds = 0;    // until it failed or ended
  int number = 0;        // a process id, or the number of ranks in the job
};

// Returns whether the run shares its GPU with other programs through MPS, as far as its recording, the environment and
// the MPS daemon show. A rerun repeats the fault, which can end the other programs.
bool may_end_other_programs(const session::Session& session);

// Returns why the run must not be rerun, even if the user agrees; nullopt if it may be rerun.
std::optional<RerunObstacle> obstacle_in_run(const session::Session& session);
// Returns why the run must not be rerun without asking the user; nullopt if it may be rerun. `isolated`: whether the
// rerun can be isolated.
std::optional<RerunObstacle> obstacle_to_rerun(const session::Session& session, const launch::Input& input,
                                               bool isolated);

}  // namespace cudadiag::supervise
