// Decides whether a replayed launch failed as it did in its program.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "replay/answer.h"
#include "replay/saved_launch.h"
#include "session/notes/replay_tally.h"

namespace cudadiag::replay {

enum class Outcome {
  as_it_did,  // the same error and, if both are known, the same instruction
  otherwise,  // a different error, or a different instruction
  did_not_fail,
  hung,        // cudadiag ended it at its time limit
  crashed,     // the process ended during the launch without reporting an error
  impossible,  // the launch was never issued; Run::why gives the reason
};
std::string_view word(Outcome outcome);

// The failure that a GPU core dump of a replay shows.
struct Dumped {
  Instruction instruction{};
  std::uint32_t exception = 0;  // the hardware's exception number; 0 for a trap instruction
};

// One replay.
struct Run {
  Outcome outcome = Outcome::impossible;
  std::uint32_t code = 0;  // 0 if none
  std::string why{};
  std::optional<Dumped> dumped{};
  Answer answer{};
};

// `cut_short` is true if cudadiag ended the run at its time limit. `dumped` comes from a dump that this run left: after
// such a dump, the driver ends the process without an answer.
Run judge(const SavedLaunch& launch, const Answer& answer, bool cut_short, std::optional<Dumped> dumped = {});

// Compares a run with `first`, the dump of an earlier run that failed as the launch did. The run fails in the same way
// only if it left a dump with the same exception at the same instruction.
Run judged_by(const Dumped& first, Run run);

// A tally of no replays yet. It says how much memory was not saved.
session::ReplayTally tally_for(const SavedLaunch& launch);
void add(session::ReplayTally& tally, const Run& run);

}  // namespace cudadiag::replay
