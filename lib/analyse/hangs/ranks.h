// Where the ranks of a job diverge: the first collective that some have not reached, or do not call as the others do.
// Kernels of NCCL and similar libraries end only once every rank has reached the same one. If all ranks run the same
// program, they issue collectives in the same order.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "session/session.h"

namespace cudadiag::analyse {

// Seconds. The libraries that call collectives wait for minutes before they give up; programs that end at work, for
// whatever reason, leave collectives that are younger.
inline constexpr double kLongForACollective = 10;

// By its name, mangled or not.
bool is_collective(std::string_view kernel);
bool launches_collective(const session::ProcessRecord& record, const session::Operation& operation);
bool calls_collectives(const session::Process& process);

// One rank at the collective in question.
struct RankCall {
  const session::Process* process = nullptr;
  std::uint64_t issued = 0;                        // collectives, in the whole run
  const session::Operation* collective = nullptr;  // null: it has not reached it
};

struct Ranks {
  // The property in which the ranks' calls of it differ. The number of blocks depends on the size.
  enum class Difference { none, line, kernel, blocks };

  std::uint64_t number = 0;  // of the collective, from 1
  std::uint64_t first = 1;   // of those that were compared; all from there up to `number` were called in the same way
  Difference difference = Difference::none;
  std::vector<RankCall> calls;  // by rank, then those without one, by pid

  // A collective that is left out may be taken for the next one of its line, and the ranks part much later. Where it
  // was, the rank that left it out launches the kernels of two turns between two collectives.
  struct Uneven {
    std::uint64_t number = 0;  // the collective that follows these kernels
    const session::Process* process = nullptr;
    std::uint64_t kernels = 0, of_others = 0;
  };
  // The only such place that is recorded, after two others at which all ranks launched the same number; nothing: there
  // is none.
  std::optional<Uneven> uneven;

  bool all_have_come() const;
  // Some thread that called it, and maybe later ones, had issued nothing for long by the end of its process's
  // recording.
  bool waited_for_long() const;
  // The ranks do not diverge: all have called the same number of collectives, in the same way.
  bool agree() const { return difference == Difference::none && all_have_come(); }
};

// Compares the processes that have a rank or called a collective. Empty if the answer is not known:
// - fewer than two did, two say that they are one rank, or they did not all live at the same time;
// - something was not recorded, or what was does not reach back to where they part;
// - collectives run in graphs, or some kernels are for two ranks alone, as those of a pipeline;
// - ranks went on for long after they had parted, so that they may be meant to, or their threads take turns;
// - of a rank that has not come: it waits in a collective itself, or nobody waits in this one any more;
// - of ranks that agree: not all of them stand there.
std::optional<Ranks> parted_ranks(const std::vector<const session::Process*>& processes);

// The same if it matters: always for a job that hangs in a collective; for another job, if ranks diverge and some
// process had waited for long.
std::optional<Ranks> ranks_to_tell(const std::vector<const session::Process*>& processes, bool hangs);

}  // namespace cudadiag::analyse
