// Finds the first collective that some ranks of a job have not reached, or that they call differently. Kernels of NCCL
// and similar libraries finish only once every rank has reached the same collective. Ranks that run the same program
// issue collectives in the same order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyse/collectives.h"

namespace cudadiag::analyse {

// Seconds in a collective that count as a long wait. Libraries wait for minutes before they give up. If a program ends
// while it is working, its unfinished collectives are younger than this.
inline constexpr double kLongForACollective = 10;

// One rank at the collective in question.
struct RankCall {
  std::size_t process = 0;  // index among the processes that were compared
  std::optional<int> rank;
  std::uint32_t pid = 0;
  std::string host;
  std::optional<double> ended;            // when it was last known to run, in seconds since the epoch
  std::uint64_t issued = 0;               // how many collectives it called in the whole run
  std::optional<std::size_t> collective;  // index in ProcessRecord::operations; nullopt if the rank has not reached it
  double waited = 0;                      // see CollectiveSequence::Call
};

struct Ranks {
  // How the ranks' calls differ. A different number of blocks means that the ranks pass data of different sizes.
  enum class Difference { none, line, kernel, blocks };

  std::uint64_t number = 0;  // of the collective, from 1
  std::uint64_t first = 1;   // the first collective that was compared; those before `number` do not differ
  Difference difference = Difference::none;
  std::vector<RankCall> calls;  // sorted by rank, then those without a rank number by pid

  // If a rank skips a collective, the next collective on the same line may be mistaken for it. The ranks then seem to
  // diverge much later. The number of kernels reveals the skip: between two collectives, that rank launches the kernels
  // of two iterations.
  struct Uneven {
    std::uint64_t number = 0;  // the collective that follows these kernels
    std::optional<int> rank;
    std::uint32_t pid = 0;
    std::uint64_t kernels = 0, of_others = 0;
  };
  // The only recorded collective before which one rank launched more kernels than the others; nullopt if there are
  // several. Before each of the two preceding collectives, all ranks must have launched the same number of kernels.
  std::optional<Uneven> uneven;

  bool all_have_come() const;
  // Returns whether a thread that called the collective had issued nothing for a long time when the recording ended.
  bool waited_for_long() const;
  // Returns true if the ranks do not diverge: all have called the same number of collectives, in the same way.
  bool agree() const { return difference == Difference::none && all_have_come(); }
};

// Compares the processes that have a rank or called a collective. Returns nullopt if the answer is uncertain, because
// - fewer than two processes are compared, two claim the same rank, or they did not all run at the same time;
// - something was not recorded, or the recording does not reach back to where the ranks diverge;
// - collectives run in graphs, or some kernels involve only two ranks, as in a pipeline;
// - ranks continued long after they diverged, perhaps intentionally, or the order of their threads varies;
// - a rank that has not reached the collective waits in another collective, or no rank waits in this collective;
// - the ranks have made the same calls, but not all of them are blocked in the last one.
std::optional<Ranks> parted_ranks(const std::vector<CollectiveSequence>& processes);

// Returns parted_ranks() for the report. If the job does not hang in a collective, returns nullopt unless the ranks
// diverge and some process has waited for a long time.
std::optional<Ranks> ranks_to_tell(const std::vector<CollectiveSequence>& processes, bool hangs);

}  // namespace cudadiag::analyse
