#include "diagnose/ranks/rank_names.h"

#include <fmt/core.h>

#include "diagnose/words.h"

namespace cudadiag::diagnose {

std::string names_of(const std::vector<RankName>& lines) {
  std::vector<std::string> ranks, pids;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!lines[i].rank) {
      pids.push_back(std::to_string(lines[i].pid));
      continue;
    }
    std::size_t last = i;
    while (last + 1 < lines.size() && lines[last + 1].rank == *lines[last].rank + 1) ++last;
    ranks.push_back(last > i + 1 ? fmt::format("{}-{}", *lines[i].rank, *lines[last].rank)
                                 : std::to_string(*lines[i].rank));
    if (last > i + 1) i = last;
  }
  std::string text;
  if (!ranks.empty()) {
    const bool one = ranks.size() == 1 && ranks.front().find('-') == std::string::npos;
    text = (one ? "rank " : "ranks ") + joined(ranks, " and ");
  }
  if (pids.empty()) return text;
  return text + (text.empty() ? "" : " and ") + (pids.size() == 1 ? "process " : "processes ") + joined(pids, " and ");
}

}  // namespace cudadiag::diagnose
