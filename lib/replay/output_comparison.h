// Compares the memory after two replays of one launch, byte by byte.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "replay/saved_launch.h"

namespace cudadiag::replay {

struct FirstDifference {
  std::size_t block = 0;     // index in the launch
  std::uint64_t offset = 0;  // offset in the block
  std::uint8_t here = 0, there = 0;
};

struct Comparison {
  std::uint64_t compared = 0, different = 0;  // bytes
  std::optional<FirstDifference> first;
};

// Compares the output folders of two replays (PlayOrder::outputs). Returns nullopt if a file is missing or too short.
std::optional<Comparison> compare_outputs(const SavedLaunch& launch, const std::filesystem::path& here,
                                          const std::filesystem::path& there);

}  // namespace cudadiag::replay
