// One native unwinding of the calling thread, by the unwinder in libgcc that C++ exceptions use, linked in
// statically. libgcc finds a frame's unwind tables through _dl_find_object; we give it one of our own (unwinder.cc)
// that takes no lock of the dynamic loader, on any glibc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "record/stacks/modules.h"

namespace cudadiag::record {

struct UnwoundFrame {
  std::uint64_t return_address;
  std::uint64_t slot;  // stack address that holds it
};

// Fills `frames` with the return addresses of the calling thread, innermost first, leaving out those whose slot
// lies below `stack_pointer`; the number filled. Stops before an address in [stop_begin, stop_end).
std::size_t unwind(std::uintptr_t stack_pointer, std::uintptr_t stop_begin, std::uintptr_t stop_end,
                   std::span<UnwoundFrame> frames, bool& truncated);

}  // namespace cudadiag::record
