// How several ranks are named in text.
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
  // By rank, those without one last.
  bool operator<(const RankName& other) const {
    if (rank.has_value() != other.rank.has_value()) return rank.has_value();
    return rank != other.rank ? rank < other.rank : pid < other.pid;
  }
};

// "rank 0", "ranks 0, 2-5", "processes 4711 and 4712" of some that have no rank. By rank, those without one last.
std::string names_of(const std::vector<RankName>& ranks);

}  // namespace cudadiag::diagnose
