// Frames that are not on the stack because their functions ended in a tail call: `void step() { kernel<<<1, 32>>>(p);
// }` jumps to nvcc's stub of the kernel, which returns to the caller of step(). DWARF's call sites show this. Internal
// to the room.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "symbolize/elf_module.h"

namespace cudadiag::symbolize {

// A frame of the stack with what the compiler inlined into it there.
struct PhysicalFrame {
  ElfModule* module = nullptr;  // null: not known
  std::uint64_t address = 0;    // where control returns to, relative to the load bias
  std::vector<NativeFrame> frames;
};

// Opened only when asked for.
using Modules = std::function<std::vector<ElfModule*>()>;

// The frames that tail calls removed from between two frames, innermost first. Empty if none is missing, if it is not
// certain, or if compilers left no record of it. `inner` is the outermost frame of CUDA or of nvcc's host side of
// `kernel`, and `outer` the one that seems to have called it. `others` are asked for functions that both lack.
std::vector<PhysicalFrame> lost_to_tail_calls(const PhysicalFrame& inner, const PhysicalFrame& outer,
                                              std::string_view kernel, const Modules& others);

}  // namespace cudadiag::symbolize
