// Makes a saved launch in this process, which the launch may end: for a child process alone (start_player.h).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "replay/launch_folder.h"

namespace cudadiag::replay {

struct PlayOrder {
  int device = 0;
  bool tight = false;                    // each block as an allocation of its own, as large as it was
  std::vector<std::uint32_t> without{};  // blocks by index: their contents are zero
  std::filesystem::path outputs{};       // a folder for the blocks' contents after the launch; empty: not wanted
  std::filesystem::path dump{};          // for a GPU core dump, after which the driver ends the process; or empty
};

// Writes lines to the file `answer` as it gets on (start_player.h reads them). 0: it came to an end.
int play(const LaunchFolder& folder, const PlayOrder& order, const std::filesystem::path& answer);

}  // namespace cudadiag::replay
