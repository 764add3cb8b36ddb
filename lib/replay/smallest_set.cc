#include "replay/smallest_set.h"

#include <algorithm>
#include <iterator>

namespace cudadiag::replay {
namespace {

std::vector<std::uint32_t> all_but(const std::vector<std::uint32_t>& all, const std::vector<std::uint32_t>& some) {
  std::vector<std::uint32_t> rest;
  std::set_difference(all.begin(), all.end(), some.begin(), some.end(), std::back_inserter(rest));
  return rest;
}

}  // namespace

// Tries to drop all blocks, then halves, then smaller and smaller parts. This is delta debugging without the step that
// tests each part alone.
Smallest smallest_set(const std::vector<std::uint32_t>& blocks,
                      const std::function<bool(const std::vector<std::uint32_t>& without)>& fails, unsigned most) {
  std::vector<std::uint32_t> all = blocks;
  std::sort(all.begin(), all.end());
  Smallest result{all};
  std::size_t part = std::max<std::size_t>(result.needed.size(), 1);
  while (!result.needed.empty()) {
    bool any = false;
    for (std::size_t at = 0; at < result.needed.size();) {
      if (result.replays == most) return result.whole = false, result;
      std::vector<std::uint32_t> kept = result.needed;
      const auto begin = kept.begin() + static_cast<std::ptrdiff_t>(at);
      kept.erase(begin, begin + static_cast<std::ptrdiff_t>(std::min(part, kept.size() - at)));
      ++result.replays;
      if (fails(all_but(all, kept))) {
        result.needed = std::move(kept);
        any = true;
      } else {
        at += part;
      }
    }
    if (part == 1 && !any) break;
    if (part > 1) part = (part + 1) / 2;
  }
  return result;
}

}  // namespace cudadiag::replay
