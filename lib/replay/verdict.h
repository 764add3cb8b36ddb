// Whether a launch that was made alone failed as it did in its program.
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
  otherwise,  // another error, or another instruction
  did_not_fail,
  hung,        // until it was ended
  crashed,     // the process ended while the launch was on the GPU, without an error
  impossible,  // it could not be made: Run::why
};
std::string_view word(Outcome outcome);

// One replay.
struct Run {
  Outcome outcome = Outcome::impossible;
  std::uint32_t code = 0;  // 0: none
  std::string why{};
  std::optional<Instruction> instruction{};  // that failed, if a GPU core dump tells
  Answer answer{};
};

// `cut_short`: it was ended at its time limit.
Run judge(const SavedLaunch& launch, const Answer& answer, bool cut_short, std::optional<Instruction> instruction = {});

void add(session::ReplayTally& tally, const Run& run);

}  // namespace cudadiag::replay
