// Reports a process that cannot be recorded. Without this report, it would look like a process that does not use CUDA.
#pragma once

#include <cstddef>

#include "wire/names/unrecorded.h"

namespace cudadiag::record {

struct Lack {
  wire::unrecorded::What what;
  int error;  // errno
};

// Creates the folder of a pass if it does not exist, because without a launcher the first recorder must do that. Also
// creates the session's folder: after `cudadiag env`, an unused one may have been removed.
void make_session_folder(const char* folder);

// Stores the reason in the launcher's arena or, if that is impossible, in the session's folder.
void leave_unrecorded(const Lack& lack);

// Whether the recorder may use this many bytes of what a limit leaves to the process. The recorder takes at most a
// quarter, so that the program does not run out of memory. RLIMIT_AS counts all mappings, RLIMIT_DATA only private
// ones.
bool may_take_address_space(std::size_t bytes);
bool may_take_data(std::size_t bytes);

}  // namespace cudadiag::record
