// Finds where the ranks of a job diverge, from NCCL's communicators.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "session/session.h"
#include "wire/site_key.h"

namespace cudadiag::analyse {

// The state of one rank of a job, according to NCCL's communicators. It holds no reference to its process, and is small
// enough that a thousand of them fit in memory.
struct RankState {
  // A call, and the place where the program made it.
  struct Call : session::Collective {
    wire::site_key::Key line = 0;  // of the program's innermost own frame; 0 if unknown
    double made = 0;               // seconds since the epoch
  };

  // A flag in Call::flags, in addition to those of the wire format: earlier work on the call's stream is unfinished.
  static constexpr std::uint8_t kQueued = 0x80;
  // A flag in Call::flags: the size applies only to this rank, and may differ between ranks.
  static constexpr std::uint8_t kOwnSize = 0x40;

  std::optional<int> rank;  // in the job
  std::uint32_t pid = 0;
  std::vector<session::Communicator> communicators;
  std::vector<Call> calls;  // the latest ones, sorted by number
  // For each stream, the calls whose work may be unfinished, as indices into `calls`, oldest first. Includes calls
  // whose kernel was never launched.
  std::vector<std::vector<std::size_t>> unfinished;
  bool is_whole = true;  // no communicator and no message is missing
  double waited = 0;     // seconds since the thread that made the latest call last issued an operation
  // The state comes from a PyTorch Flight Recorder dump, not from a recording. In that case, Collective::site is 1 +
  // the index in `stacks`, and Collective::of_function is 0.
  bool is_dumped = false;
  std::vector<std::vector<session::DeliveredFrame>> stacks;
};

bool launches_nccl(const session::ProcessRecord& record, const session::Operation& operation);

inline constexpr std::size_t kAllCalls = static_cast<std::size_t>(-1);

// Returns nullopt if NCCL reported no communicator. `most`: how many of the latest calls to keep.
std::optional<RankState> rank_state(const session::Process& process, std::size_t most);

// Explains why a job hangs, according to NCCL's communicators. Finds a call that some ranks have not reached or in
// which they differ, or a circle of ranks that wait for each other.
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
