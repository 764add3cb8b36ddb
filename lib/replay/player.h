// Repeats a saved launch in this process. The launch may kill the process, so only a child process calls this
// (supervise/reruns/replays.h).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "replay/launch_folder.h"

namespace cudadiag::replay {

struct GpuChoice {
  int device = 0;             // device number, used if `bus` is empty
  std::string bus{};          // PCI bus id
  bool sets_visible = false;  // sets CUDA_VISIBLE_DEVICES to `visible`, or removes it if `visible` is empty
  std::string visible{};
};

struct PlayOrder {
  GpuChoice gpu{};
  bool tight = false;                    // allocate each block separately, with its old size
  std::vector<std::uint32_t> without{};  // indices of the blocks to fill with zeros
  std::filesystem::path outputs{};       // folder that receives the blocks' contents after the launch; empty: none
  std::filesystem::path dump{};          // file for a GPU core dump, which ends the process; empty: none
};

// After each step, writes a line to the file `answer`, which LaunchPlayer reads. Returns 0 if all steps succeeded.
int play(const LaunchFolder& folder, const PlayOrder& order, const std::filesystem::path& answer);

}  // namespace cudadiag::replay
