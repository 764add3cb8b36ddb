// Explains where the ranks of a job diverge or why its groups are blocked, and writes lists of ranks as text.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analyse/rank_divergence.h"
#include "diagnose/causes/case.h"
#include "diagnose/facts/report_model.h"
#include "evidence/flight_dump.h"
#include "symbolize/symbolizer.h"

namespace cudadiag::diagnose {

struct RankName {
  std::optional<int> rank;
  std::uint32_t pid = 0;

  bool operator==(const RankName&) const = default;
  // Orders by rank; processes without a rank come last.
  auto operator<=>(const RankName& other) const {
    if (rank.has_value() != other.rank.has_value()) return other.rank.has_value() <=> rank.has_value();
    return std::tie(rank, pid) <=> std::tie(other.rank, other.pid);
  }
};

// Returns text such as "rank 0" or "ranks 0, 2-5". Processes without a rank come last: "processes 4711 and 4712".
// `ranks` must be sorted.
std::string names_of(const std::vector<RankName>& ranks);
// The same for lines with a `rank` and a `pid`, in any order.
template <typename Line>
std::string names_of(const std::vector<const Line*>& lines) {
  std::vector<RankName> names;
  for (const Line* line : lines) names.push_back({line->rank, line->pid});
  std::ranges::sort(names);
  return names_of(names);
}

// A rank's process, and its session.
struct RecordedRank {
  const session::Session& session;
  const session::Process& process;
  symbolize::Symbolizer& symbolizer;
  bool is_own = true;  // if false, the rank left only a dump, and `process` is another rank's process
};

// `recorded` receives the index of a compared process; its result must stay valid until the next call. Returns nullopt
// if the ranks diverge within one line.
std::optional<RanksPart> ranks_part(const analyse::Ranks& ranks,
                                    const std::function<RecordedRank(std::size_t process)>& recorded);

// Writes the line of each rank into the ranks_part note.
void add_ranks_note(std::vector<analyse::Note>& notes, const RanksPart& part, const std::string& directory);

// Returns one line for each rank. Ranks with the same text share a line.
std::vector<std::string> rank_lines(const RanksPart& part, const std::string& directory);

// Returns the lines of rank_lines() as one text. The text continues a sentence that begins "the ranks of the job
// diverge".
std::string ranks_text(const RanksPart& part, const std::string& directory);

causes::RanksInWords in_words(const RanksPart& part, const std::string& directory);

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

// Reads the state of a rank from its PyTorch Flight Recorder dump, for ranks about which NCCL reported nothing.
// `rank` is the rank's number in the job. `until` is the time at which the dump was written or, if earlier, the process
// ended, in seconds since the epoch. `most` is the number of latest calls to keep. Collectives keep the numbers that
// PyTorch gives them within their group. Sends and receives have numbers only if the dump has all calls of the process.
analyse::RankState flight_rank(const evidence::FlightDump& dump, int rank, double until, std::size_t most);

}  // namespace cudadiag::diagnose
