// Explains why a job hangs, according to NCCL's communicators. Finds a call that some ranks have not reached or in
// which they differ, or a circle of ranks that wait for each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyse/communicators.h"

namespace cudadiag::analyse {

struct GroupAnswer {
  enum class Kind {
    absence,   // some ranks have not reached the call
    mismatch,  // the ranks call it differently
    circle,    // each rank waits for the next one in `circle`
    present,   // all ranks have made the same call, but it does not finish
  };
  // `line`: the ranks make this call from different lines, but made all earlier recorded collectives from the same
  // lines.
  enum class Difference { none, function, count, type, root, line };

  // A rank at the call in question.
  struct Rank {
    std::size_t state = 0;            // index into the compared states
    std::int32_t rank = 0;            // in the group
    std::optional<std::size_t> call;  // index in RankState::calls; nullopt if it made no call, or the record is lost
    bool has_come = false;
    std::optional<std::size_t> waits_in;  // for a rank that has not reached the call: the call in which it waits
  };

  struct Wait {
    std::size_t state = 0, call = 0;
    std::size_t for_state = 0;
  };

  Kind kind = Kind::present;
  Difference difference = Difference::none;
  session::Communicator group;       // as one of its ranks recorded it
  RankState::Call call;              // as the earliest rank made it
  std::vector<Rank> ranks;           // the ranks of the group, or the two ends of a message; sorted by rank
  std::vector<std::int32_t> unseen;  // ranks of the group without a recording
  std::vector<Wait> circle;
};

// Returns nullopt if nothing explains a hang, or if communicators are missing. `hangs`: the job is known to hang. If
// false, returns nullopt unless some rank has waited for a long time.
std::optional<GroupAnswer> group_answer(std::span<const RankState> ranks, bool hangs);

}  // namespace cudadiag::analyse
