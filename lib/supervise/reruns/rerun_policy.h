// Whether a failed run may be repeated without being asked: only if that is cheap, and cannot or did not change anything.
#pragma once

#include <optional>
#include <string>

#include "launch/input.h"
#include "launch/run_traces.h"
#include "session/session.h"

namespace cudadiag::supervise {

struct RerunObstacle {
  enum class Kind {
    under_another_launcher,
    ended_early,  // by us
    hung,
    ended_from_outside,
    failed_late,
    took_long,
    one_rank,
    several_nodes,
    input,
    // Traces of the first run; they count if reruns cannot be isolated.
    still_running,
    used_network,
    wrote_to_disk,
    removed_file,
    changed_file,
    unseen_files,
  };
  Kind kind = Kind::hung;
  std::string detail{};  // a file, a connection, why the input cannot be read again, why we ended it
  double seconds = 0;    // until it failed, or ended
  int number = 0;        // a process; the ranks of the job
};

// Reasons in the run itself against any rerun, even one that the user agreed to.
std::optional<RerunObstacle> obstacle_in_run(const session::Session& session);
// Reasons against a rerun that the user did not agree to. `traces`: what the first run left; null: reruns are isolated,
// and it may have done anything. `report_file`: one of ours below the working folder.
std::optional<RerunObstacle> obstacle_to_rerun(const session::Session& session, const launch::Input& input,
                                               const launch::RunTraces* traces, const std::string& report_file);

}  // namespace cudadiag::supervise
