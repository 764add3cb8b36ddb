// Makes a saved launch in this process. The launch may end the process, so only a child process does this
// (supervise/replays/launch_player.h).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "replay/launch_folder.h"

namespace cudadiag::replay {

// The GPU of a replay.
struct GpuChoice {
  int device = 0;             // its number, if `bus` is empty
  std::string bus{};          // its PCI bus id
  bool sets_visible = false;  // sets CUDA_VISIBLE_DEVICES to `visible`, or removes it if `visible` is empty
  std::string visible{};
};

struct PlayOrder {
  GpuChoice gpu{};
  bool tight = false;                    // each block is a separate allocation of its old size
  std::vector<std::uint32_t> without{};  // indices of blocks whose contents are zero
  std::filesystem::path outputs{};       // folder for the blocks' contents after the launch; empty if not wanted
  std::filesystem::path dump{};          // file for a GPU core dump, after which the driver ends the process; or empty
};

// Writes a line to the file `answer` after each step (launch_player.h reads them). Returns 0 if all steps were done.
int play(const LaunchFolder& folder, const PlayOrder& order, const std::filesystem::path& answer);

}  // namespace cudadiag::replay
