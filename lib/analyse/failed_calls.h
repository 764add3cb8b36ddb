// Calls that returned an error themselves and left the context usable. From outside, one cannot see whether the program
// handled the error. One can see whether it asked for the last error, continued its work, or ended badly.
#pragma once

#include "analyse/analysis.h"
#include "analyse/ending.h"

namespace cudadiag::analyse {

struct CallFindings {
  std::vector<Failure> failures;  // earliest first
  std::vector<Note> notes;        // about handled errors
};

CallFindings failed_calls(const session::Process& process, const Ending& end, const SameLine& same_line = {});

// Sets `swallowed` of an asynchronous failure with a null pointer to the failed allocation that may be the reason.
void recall_failed_allocation(Failure& failure);

}  // namespace cudadiag::analyse
