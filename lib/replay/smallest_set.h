// The smallest set of memory blocks with whose contents a saved launch still fails as it did.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace cudadiag::replay {

struct Smallest {
  std::vector<std::uint32_t> needed;  // by index, ascending
  unsigned replays = 0;
  bool whole = true;  // no single block more can be left out; false: the search was ended
};

// `fails(without)`: whether the launch fails as it did if the contents of these blocks are zero. `most`: replays.
Smallest smallest_set(const std::vector<std::uint32_t>& blocks,
                      const std::function<bool(const std::vector<std::uint32_t>& without)>& fails, unsigned most);

}  // namespace cudadiag::replay
