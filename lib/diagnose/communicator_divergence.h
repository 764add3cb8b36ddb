// Explains why a job with several groups of ranks is blocked, and names the groups.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analyse/communicator_divergence.h"
#include "diagnose/causes/case.h"
#include "diagnose/facts/report_model.h"
#include "diagnose/ranks.h"
#include "evidence/flight_dump.h"
#include "symbolize/symbolizer.h"

namespace cudadiag::diagnose {

// Returns names for groups of ranks, and for the ranks in them. A group without a name from the program is described by
// its ranks.
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

// `recorded` is called with an index into `states`, but not for every rank, because many ranks share a line.
GroupsPart groups_part(const analyse::GroupAnswer& answer, std::span<const analyse::RankState> states,
                       const std::function<RecordedRank(std::size_t state)>& recorded);

// Returns the answer in one sentence: "rank 2 never reached all_reduce 481 of group tp1: it last worked at
// model.py:212".
std::string group_sentence(const GroupsPart& part, const std::string& directory);

// Returns lines that say what each rank does. Ranks with the same text share a line.
std::vector<std::string> group_lines(const GroupsPart& part, const std::string& directory);

causes::RanksInWords in_words(const GroupsPart& part, const std::string& directory);

// Replaces the text of the ranks_part note with the answer.
void add_groups_note(std::vector<analyse::Note>& notes, const GroupsPart& part, const std::string& directory);

// Returns the answer for the whole job. A report shows it before the answer for one process. Empty if the job's groups
// are unknown, or if no rank waits.
std::string job_sentence(const Diagnosis& report);
// Returns lines about the job's ranks, by group if the groups are known; empty if there are none.
std::vector<std::string> job_lines(const Diagnosis& report);

}  // namespace cudadiag::diagnose
