// A call failed and its program ended badly afterwards: the reasons to doubt that one led to the other.
#pragma once

#include <cstdint>
#include <string>

#include "analyse/analysis.h"
#include "analyse/ending.h"

namespace cudadiag::analyse {

struct ExitDoubt {
  Grade at_best = Grade::proven;
  double lived_on = 0;  // seconds from the error to the end, if that is longer than an exit takes; else 0
  std::string why;      // "; it was given memory in between"; empty: nothing else speaks against it
};

// `error`: what the process noticed last of it.
ExitDoubt exit_doubt(const session::FailedCall& error, const session::ProcessRecord& record, const Ending& end);

// The thread asked for memory again, and got it before `until`, in ticks.
bool was_given_memory(const session::ProcessRecord& record, const session::FailedCall& error, std::uint64_t until);

}  // namespace cudadiag::analyse
