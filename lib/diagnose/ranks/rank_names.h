// Writes a list of ranks as text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cudadiag::diagnose {

struct RankName {
  std::optional<int> rank;
  std::uint32_t pid = 0;

  bool operator==(const RankName&) const = default;
  // Orders by rank; processes without a rank come last.
  bool operator<(const RankName& other) const {
    if (rank.has_value() != other.rank.has_value()) return rank.has_value();
    return rank != other.rank ? rank < other.rank : pid < other.pid;
  }
};

// Returns text such as "rank 0" or "ranks 0, 2-5". Processes without a rank come last: "processes 4711 and 4712".
// `ranks` must be sorted.
std::string names_of(const std::vector<RankName>& ranks);

}  // namespace cudadiag::diagnose
