// Calls that returned an error of their own and left the context usable. From the outside, we cannot tell whether the
// program handled the error. We only see whether it queried the last error, carried on, or exited with a failure.
#pragma once

#include <vector>

#include "analyse/failure.h"
#include "analyse/notes.h"
#include "analyse/process_ending.h"
#include "session/session.h"

namespace cudadiag::analyse {

struct CallFindings {
  std::vector<Failure> failures;  // earliest first
  std::vector<Note> notes;        // about handled errors
};

CallFindings failed_calls(const session::Process& process, const Ending& end, const SameLine& same_line = {});

}  // namespace cudadiag::analyse
