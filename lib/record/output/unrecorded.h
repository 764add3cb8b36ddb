// The trace of a process that cannot be recorded, so that nobody takes it for one without CUDA.
#pragma once

#include <cstddef>

#include "wire/unrecorded.h"

namespace cudadiag::record {

struct Lack {
  wire::unrecorded::What what;
  int error;  // errno
};

// Makes the folder of a pass where it is missing: without a launcher the first recorder does. After `cudadiag env` the
// session's own folder may have been removed meanwhile, as one that nobody used.
void make_session_folder(const char* folder);

// Leaves it in the launcher's arena, else in the session's folder, else nowhere.
void leave_unrecorded(const Lack& lack);

// Whether the recorder may take so much of what a limit leaves the process: a quarter of it, as the program must not
// fail for want of what we have taken. Everything that is mapped counts (RLIMIT_AS), or what is the process's own
// (RLIMIT_DATA).
bool may_take_address_space(std::size_t bytes);
bool may_take_data(std::size_t bytes);

}  // namespace cudadiag::record
