// Repeats a saved launch in this process: chooses addresses for its memory blocks, rewrites pointers to blocks that
// moved, and launches. The launch may kill the process, so only a child process calls play()
// (supervise/reruns/replays.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
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

// ---- the addresses of the blocks

struct Range {
  std::uint64_t begin = 0, end = 0;
};

// Returns the granules of device memory that contain the wanted blocks, as ranges that do not touch. `wanted` is
// indexed by block.
std::vector<Range> granules(const std::vector<Block>& blocks, const std::vector<bool>& wanted, std::uint64_t granule);

// Maps the old address of each block to its new one.
class Placement {
 public:
  explicit Placement(const std::vector<Block>& blocks);

  void put(std::size_t block, std::uint64_t address) { now_[block] = address; }
  void leave_out(std::size_t block) { now_[block].reset(); }
  std::optional<std::uint64_t> of(std::size_t block) const { return now_[block]; }
  // Returns whether any block has a new address.
  bool moves() const;
  // Returns `word`, adjusted if it points into a moved block or to the end of one.
  std::uint64_t rewritten(std::uint64_t word) const;
  // Rewrites each aligned word, and returns how many changed.
  std::size_t rewrite(std::span<std::byte> bytes) const;

 private:
  const std::vector<Block>* blocks_;
  std::vector<std::size_t> by_address_;
  std::vector<std::optional<std::uint64_t>> now_;
};

}  // namespace cudadiag::replay
