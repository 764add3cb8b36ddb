// Explains where the ranks of a job diverge, and writes lists of ranks as text.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "diagnose/causes/case.h"
#include "diagnose/facts/report_model.h"
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

}  // namespace cudadiag::diagnose
