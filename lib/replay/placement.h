// Where the blocks of a saved launch go in the process that makes it again, without a driver: which granules of device
// memory have to be mapped, and what pointers become if a block lies elsewhere.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "replay/saved_launch.h"

namespace cudadiag::replay {

// Memory of the host that the GPU could reach.
bool is_of_host(const Block& block);
// Its address is chosen by whoever makes the launch: not a variable, and not of the host.
bool is_of_device(const Block& block);

struct Range {
  std::uint64_t begin = 0, end = 0;
};

// The granules that these blocks lie in, as ranges that do not touch. `wanted`: by block.
std::vector<Range> granules(const std::vector<Block>& blocks, const std::vector<bool>& wanted, std::uint64_t granule);

// The new address of each block.
class Placement {
 public:
  explicit Placement(const std::vector<Block>& blocks);

  void put(std::size_t block, std::uint64_t address) { now_[block] = address; }
  void leave_out(std::size_t block) { now_[block].reset(); }
  std::optional<std::uint64_t> of(std::size_t block) const { return now_[block]; }
  // Some block lies elsewhere than it did.
  bool moves() const;
  // The new value of a word that may be a pointer into a block, or to its end.
  std::uint64_t rewritten(std::uint64_t word) const;
  // Rewrites each aligned word; how many have changed.
  std::size_t rewrite(std::span<std::byte> bytes) const;

 private:
  const std::vector<Block>* blocks_;
  std::vector<std::size_t> by_address_;
  std::vector<std::optional<std::uint64_t>> now_;
};

}  // namespace cudadiag::replay
