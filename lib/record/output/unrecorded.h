// A trace of a process that cannot be recorded, so that it does not pass for one without CUDA.
#pragma once

#include <cstddef>

#include "wire/names/unrecorded.h"

namespace cudadiag::record {

struct Lack {
  wire::unrecorded::What what;
  int error;  // errno
};

// Makes the folder of a pass if it is missing: without a launcher, the first recorder does that. After `cudadiag env`,
// the session's folder may have been removed because it was unused.
void make_session_folder(const char* folder);

// Leaves the reason in the launcher's arena, else in the session's folder, else nowhere.
void leave_unrecorded(const Lack& lack);

// Whether the recorder may use that much of what a limit leaves to the process.
// It takes at most a quarter, so that it does not make the program run out of
// memory. RLIMIT_AS counts all mappings, RLIMIT_DATA the process's private ones.
bool may_take_address_space(std::size_t bytes);
bool may_take_data(std::size_t bytes);

}  // namespace cudadiag::record
