// The trace of a process that cannot be recorded, so that it is not taken for one without CUDA.
#pragma once

#include <cstddef>

#include "wire/names/unrecorded.h"

namespace cudadiag::record {

struct Lack {
  wire::unrecorded::What what;
  int error;  // errno
};

// Makes the folder of a pass if it is missing: without a launcher the first recorder does. After `cudadiag env` the
// session's folder may have been removed since, because it was not used.
void make_session_folder(const char* folder);

// Leaves it in the launcher's arena, else in the session's folder, else nowhere.
void leave_unrecorded(const Lack& lack);

// Whether the recorder may take that much of what a limit leaves the process: at most a quarter, because the program
// must not run out of memory because of us. Everything that is mapped counts (RLIMIT_AS), or what is the process's own
// (RLIMIT_DATA).
bool may_take_address_space(std::size_t bytes);
bool may_take_data(std::size_t bytes);

}  // namespace cudadiag::record
