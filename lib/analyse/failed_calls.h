// Calls that returned an error themselves and left the context usable. Whether the program handled the error cannot be
// seen from outside. It can be seen whether the program asked for the last error, continued its work, or ended badly.
#pragma once

#include "analyse/analysis.h"
#include "analyse/ending.h"

namespace cudadiag::analyse {

struct CallFindings {
  std::vector<Failure> failures;  // earliest first
  std::vector<Note> notes;        // what was handled
};

CallFindings failed_calls(const session::Process& process, const Ending& end, const SameLine& same_line = {});

// Fills `swallowed` of an asynchronous failure with a null pointer: what its allocation returned may be why.
void recall_failed_allocation(Failure& failure);

}  // namespace cudadiag::analyse
