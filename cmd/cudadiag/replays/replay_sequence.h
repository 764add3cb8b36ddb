// Replays a saved launch as the options of `cudadiag replay` request: several times, under compute-sanitizer, with less
// memory, or to compare the memory afterwards.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "replay/launch_folder.h"
#include "replays/replay_result.h"
#include "supervise/replays/launch_player.h"

namespace cudadiag::command {

struct ReplayPlan {
  unsigned times = 1;
  std::optional<unsigned> device;  // nullopt: the GPU on which the launch was saved
  std::optional<supervise::SanitizerTool> tool;
  bool minimise = false;
  std::string minimal;  // where to write the smallest failing launch; empty: nowhere
  bool compare = false;
  std::optional<unsigned> compared_device;
};

// Returns the GPU of the first replay.
replay::GpuChoice chosen_gpu(const replay::LaunchFolder& folder, const ReplayPlan& plan);

base::Result<ReplayResult> run_replays(const replay::LaunchFolder& folder, const ReplayPlan& plan,
                                       supervise::LaunchPlayer& player);

// Returns true if the failure happened again.
bool reproduced(const ReplayPlan& plan, const ReplayResult& result);

}  // namespace cudadiag::command
