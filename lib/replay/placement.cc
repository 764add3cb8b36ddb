#include "replay/placement.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace cudadiag::replay {

bool is_of_host(const Block& block) { return block.kind == MemoryKind::pinned || block.kind == MemoryKind::registered; }

bool is_of_device(const Block& block) { return block.variable.empty() && !is_of_host(block); }

std::vector<Range> granules(const std::vector<Block>& blocks, const std::vector<bool>& wanted, std::uint64_t granule) {
  std::vector<Range> ranges;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (!wanted[i] || !is_of_device(blocks[i])) continue;
    ranges.push_back({blocks[i].address / granule * granule, (blocks[i].end() + granule - 1) / granule * granule});
  }
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
  std::vector<Range> merged;
  for (const Range& range : ranges) {
    if (!merged.empty() && range.begin <= merged.back().end) {
      merged.back().end = std::max(merged.back().end, range.end);
    } else {
      merged.push_back(range);
    }
  }
  return merged;
}

Placement::Placement(const std::vector<Block>& blocks)
    : blocks_(&blocks), by_address_(blocks.size()), now_(blocks.size()) {
  std::iota(by_address_.begin(), by_address_.end(), std::size_t{0});
  std::stable_sort(by_address_.begin(), by_address_.end(),
                   [&](std::size_t a, std::size_t b) { return blocks[a].address < blocks[b].address; });
  for (std::size_t i = 0; i < blocks.size(); ++i) now_[i] = blocks[i].address;
}

bool Placement::moves() const {
  for (std::size_t i = 0; i < now_.size(); ++i) {
    if (now_[i] && *now_[i] != (*blocks_)[i].address) return true;
  }
  return false;
}

std::uint64_t Placement::rewritten(std::uint64_t word) const {
  const auto after =
      std::upper_bound(by_address_.begin(), by_address_.end(), word,
                       [&](std::uint64_t value, std::size_t i) { return value < (*blocks_)[i].address; });
  if (after == by_address_.begin()) return word;
  // Blocks rarely overlap, so this checks only the last block that begins at or before `word`.
  const std::size_t i = *(after - 1);
  const Block& block = (*blocks_)[i];
  if (word - block.address > block.bytes || !now_[i]) return word;
  return word - block.address + *now_[i];
}

std::size_t Placement::rewrite(std::span<std::byte> bytes) const {
  std::size_t changed = 0;
  for (std::size_t at = 0; at + sizeof(std::uint64_t) <= bytes.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t word;
    std::memcpy(&word, bytes.data() + at, sizeof word);
    const std::uint64_t now = rewritten(word);
    if (now == word) continue;
    std::memcpy(bytes.data() + at, &now, sizeof now);
    ++changed;
  }
  return changed;
}

}  // namespace cudadiag::replay
