// Returns names for groups of ranks, and for the ranks in them. A group without a name from the program is described by
// its ranks.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "analyse/communicators.h"

namespace cudadiag::diagnose {

class GroupNames {
 public:
  // `states` are the states of all recorded ranks of the job.
  explicit GroupNames(std::span<const analyse::RankState> states);

  // Returns a name such as "group tp1". A group without a name is "the group of ranks 2 and 3". If several groups have
  // the same ranks, the name is "group 2 of ranks 2 and 3".
  const std::string& group(std::uint64_t hash) const { return groups_.at(hash); }
  // Returns the job-wide name of the group's rank `rank`, such as "rank 3".
  std::string rank(std::uint64_t hash, std::int32_t rank) const;

 private:
  std::map<std::uint64_t, std::string> groups_;                          // by the communicator's hash
  std::map<std::pair<std::uint64_t, std::int32_t>, std::string> ranks_;  // by the hash, and the rank in the group
};

}  // namespace cudadiag::diagnose
