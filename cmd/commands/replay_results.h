// Writes the result of `cudadiag replay` as text or JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "evidence/tool_text.h"
#include "replay/launch_folder.h"
#include "replay/player.h"
#include "replay/verdict.h"
#include "session/saved_results.h"
#include "supervise/reruns/replays.h"

namespace cudadiag::command {

struct Sanitized {
  supervise::SanitizerTool tool = supervise::SanitizerTool::memcheck;
  evidence::SanitizerLog log;
  std::vector<std::string> lines;  // the output of a tool other than memcheck
};

struct Compared {
  replay::GpuChoice gpu;  // the GPU of the later replay
  std::string obstacle;
  std::optional<replay::Comparison> comparison;
};

// Returns the GPU's number or PCI bus id.
std::string words(const replay::GpuChoice& gpu);

struct ReplayResult {
  session::ReplayTally tally;
  replay::Run first;
  std::optional<Sanitized> sanitized;
  std::optional<replay::Smallest> smallest;
  std::vector<Compared> compared;
};

std::string replay_text(const replay::SavedLaunch& launch, const ReplayResult& result);
// cudadiag-replay(1) describes the schema, cudadiag.replay/1.
std::string replay_json(const replay::LaunchFolder& folder, const ReplayResult& result);

}  // namespace cudadiag::command
