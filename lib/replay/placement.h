// Places the memory blocks of a saved launch for a replay, and rewrites pointers to blocks that moved. Computes which
// granules of device memory the blocks need, and stores which address each block has in the replay. The player chooses
// the addresses.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "replay/saved_launch.h"

namespace cudadiag::replay {

// Returns whether the block is host memory that the GPU could access.
bool is_of_host(const Block& block);
// Returns true if the replay allocates device memory for the block. Variables and host memory need no allocation.
bool is_of_device(const Block& block);

struct Range {
  std::uint64_t begin = 0, end = 0;
};

// Returns the granules that contain the wanted blocks, as ranges that do not touch. `wanted` is indexed by block.
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
