// Reports a process that cannot be recorded. Without this report, the process would look like one that does not use
// CUDA.
#pragma once

#include <cstddef>

#include "wire/names/unrecorded.h"

namespace cudadiag::record {

struct Lack {
  wire::unrecorded::What what;
  int error;  // errno
};

// Creates the folder of a pass if it does not exist. Without a launcher, no other process creates it. Also creates the
// session's folder, because the folder from `cudadiag env` may have been removed in the meantime.
void make_session_folder(const char* folder);

// Stores the reason in the launcher's arena or, if that is impossible, in the session's folder.
void leave_unrecorded(const Lack& lack);

// These functions return true if `bytes` is at most a quarter of what the process may still allocate under RLIMIT_AS or
// RLIMIT_DATA. If the recorder took more, the program could run out of memory. RLIMIT_AS limits all mappings, and
// RLIMIT_DATA limits only private ones.
bool may_take_address_space(std::size_t bytes);
bool may_take_data(std::size_t bytes);

}  // namespace cudadiag::record
