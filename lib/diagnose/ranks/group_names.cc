#include "diagnose/ranks/group_names.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "base/printable.h"
#include "diagnose/ranks/rank_names.h"

namespace cudadiag::diagnose {
namespace {

struct Group {
  std::string name;  // name from the program; empty if none
  std::int32_t size = 0;
  std::vector<RankName> ranks;
  std::uint64_t made = 0;  // how many communicators its first rank had created earlier
};

// Returns text such as "ranks 2 and 3", or "ranks 0-5 and 2 more" if some ranks left no recording.
std::string ranks_of(const Group& group) {
  const auto missing = group.size - static_cast<std::int32_t>(group.ranks.size());
  return names_of(group.ranks) + (missing > 0 ? fmt::format(" and {} more", missing) : "");
}

}  // namespace

GroupNames::GroupNames(std::span<const analyse::RankState> states) {
  std::map<std::uint64_t, Group> groups;
  for (const analyse::RankState& state : states) {
    for (std::size_t i = 0; i < state.communicators.size(); ++i) {
      const session::Communicator& communicator = state.communicators[i];
      Group& group = groups[communicator.hash];
      if (group.name.empty()) group.name = communicator.name;
      group.size = communicator.ranks;
      if (group.ranks.empty()) group.made = i;
      const RankName rank{state.rank, state.pid};
      ranks_[{communicator.hash, communicator.rank}] = names_of({rank});
      if (group.ranks.empty() || !(group.ranks.back() == rank)) group.ranks.push_back(rank);
    }
  }
  std::map<std::string, std::vector<std::uint64_t>> alike;
  std::map<std::string, int> named;
  for (const auto& [hash, group] : groups) ++named[group.name];
  for (auto& [hash, group] : groups) {
    std::sort(group.ranks.begin(), group.ranks.end());
    if (group.name.empty()) {
      alike[ranks_of(group)].push_back(hash);
    } else {
      // If the program gave several groups the same name, the text also lists their ranks.
      groups_[hash] = "group " + base::printable(group.name) + (named[group.name] > 1 ? " of " + ranks_of(group) : "");
    }
  }
  for (auto& [ranks, hashes] : alike) {
    std::sort(hashes.begin(), hashes.end(),
              [&](std::uint64_t a, std::uint64_t b) { return groups.at(a).made < groups.at(b).made; });
    for (std::size_t i = 0; i < hashes.size(); ++i) {
      groups_[hashes[i]] = hashes.size() == 1 ? "the group of " + ranks : fmt::format("group {} of {}", i + 1, ranks);
    }
  }
}

std::string GroupNames::rank(std::uint64_t hash, std::int32_t rank) const {
  const auto found = ranks_.find({hash, rank});
  return found == ranks_.end() ? fmt::format("rank {} of the group", rank) : found->second;
}

}  // namespace cudadiag::diagnose
