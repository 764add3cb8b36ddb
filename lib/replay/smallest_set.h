// Finds a minimal set of memory blocks whose contents a saved launch needs in order to fail as it did.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace cudadiag::replay {

struct Smallest {
  std::vector<std::uint32_t> needed;  // indices of blocks, ascending
  unsigned replays = 0;
  bool whole = true;  // no further block can be dropped; false if the search was cut short
};

// `fails(without)` returns true if the launch still fails in the same way when the blocks in `without` contain only
// zeros. `most` limits the number of replays.
Smallest smallest_set(const std::vector<std::uint32_t>& blocks,
                      const std::function<bool(const std::vector<std::uint32_t>& without)>& fails, unsigned most);

}  // namespace cudadiag::replay
