// Reasons to doubt that a failed call made the program fail.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "analyse/analysis.h"
#include "analyse/ending.h"

namespace cudadiag::analyse {

struct ExitDoubt {
  std::optional<Fact> fact;  // nullopt if there is no doubt
  double lived_on = 0;       // seconds from the error to the end; 0 if an exit may take that long
  std::string why;           // "; other threads continued in between"; may be empty
  bool handled = false;      // the process continued after the error, or chose its exit status
};

// `error`: the last call that returned the error to the process.
ExitDoubt exit_doubt(const session::FailedCall& error, const session::ProcessRecord& record, const Ending& end);

// Returns whether the thread of the failed call allocated memory after the error and before `until`, in ticks.
bool was_given_memory(const session::ProcessRecord& record, const session::FailedCall& error, std::uint64_t until);

}  // namespace cudadiag::analyse
