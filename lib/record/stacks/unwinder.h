// Unwinds the native stack of the calling thread with libgcc's unwinder, which is linked in statically. The unwinder
// finds a frame's tables through _dl_find_object. The recorder has its own definition of this function (unwinder.cc).
// This definition works with any glibc, and takes no lock of the dynamic loader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "record/stacks/modules.h"

namespace cudadiag::record {

struct UnwoundFrame {
  std::uint64_t return_address;
  std::uint64_t slot;  // the stack address where it is stored
};

// Fills `frames` with the return addresses of the calling thread, innermost first. Skips addresses that are stored
// below `stack_pointer`. Returns the number of frames. Stops before an address in [stop_begin, stop_end).
std::size_t unwind(std::uintptr_t stack_pointer, std::uintptr_t stop_begin, std::uintptr_t stop_end,
                   std::span<UnwoundFrame> frames, bool& truncated);

}  // namespace cudadiag::record
