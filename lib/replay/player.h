// Repeats a saved launch in this process. The launch may end the process, so only a child process does this
// (supervise/replays/launch_player.h).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "replay/launch_folder.h"

namespace cudadiag::replay {

// The GPU of a replay.
struct GpuChoice {
  int device = 0;             // device number, used if `bus` is empty
  std::string bus{};          // PCI bus id
  bool sets_visible = false;  // sets CUDA_VISIBLE_DEVICES to `visible`, or removes it if `visible` is empty
  std::string visible{};
};

struct PlayOrder {
  GpuChoice gpu{};
  bool tight = false;                    // gives each block an allocation of its own, with its old size
  std::vector<std::uint32_t> without{};  // indices of blocks to fill with zeros
  std::filesystem::path outputs{};       // folder for the blocks' contents after the launch; empty for none
  std::filesystem::path dump{};          // file for a GPU core dump, which ends the process; empty for none
};

// Writes a line to the file `answer` after each step, for launch_player.h to read. Returns 0 if all steps succeeded.
int play(const LaunchFolder& folder, const PlayOrder& order, const std::filesystem::path& answer);

}  // namespace cudadiag::replay
