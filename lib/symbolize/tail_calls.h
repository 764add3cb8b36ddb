// Finds frames that are not on the stack because their functions ended in a tail call. For example, `void step() {
// kernel<<<1, 32>>>(p); }` jumps to nvcc's stub of the kernel, which then returns to step()'s caller. DWARF's call
// sites show this. Internal to lib/symbolize.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "symbolize/elf_module.h"

namespace cudadiag::symbolize {

// A frame that is on the stack, and the functions that the compiler inlined there.
struct PhysicalFrame {
  ElfModule* module = nullptr;  // null if unknown
  std::uint64_t address = 0;    // where control returns to, relative to the load bias
  std::vector<NativeFrame> frames;
};

// Opens the modules only when it is called.
using Modules = std::function<std::vector<ElfModule*>()>;

// Returns the frames that tail calls removed between two frames, innermost first. Empty if none is missing, if this is
// uncertain, or if compilers left no record. `inner` is the outermost frame of CUDA or of nvcc's host side of `kernel`.
// `outer` is the frame that seems to have called it. `others`: where to search for functions that neither module has.
std::vector<PhysicalFrame> lost_to_tail_calls(const PhysicalFrame& inner, const PhysicalFrame& outer,
                                              std::string_view kernel, const Modules& others);

}  // namespace cudadiag::symbolize
