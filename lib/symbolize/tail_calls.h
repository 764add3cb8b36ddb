// Finds frames that are not on the stack because their functions ended in a tail call. For example, a function that
// only launches a kernel jumps to nvcc's stub. The stub then returns directly to the function's caller. DWARF's call
// sites describe these jumps. Internal to lib/symbolize.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "symbolize/elf_module.h"

namespace cudadiag::symbolize {

// A frame that is on the stack, and the functions that the compiler inlined there.
struct PhysicalFrame {
  ElfModule* module = nullptr;
  std::uint64_t address = 0;  // return address, relative to the load bias
  std::vector<NativeFrame> frames;
};

// Opens modules and returns them. Called only if needed.
using Modules = std::function<std::vector<ElfModule*>()>;

// Returns the frames that tail calls removed between two frames, innermost first. `inner` is the outermost frame of
// CUDA or of nvcc's launch code for `kernel`. `outer` is the next outer frame on the stack. `others` are the modules to
// search for functions that neither module defines.
std::vector<PhysicalFrame> lost_to_tail_calls(const PhysicalFrame& inner, const PhysicalFrame& outer,
                                              std::string_view kernel, const Modules& others);

}  // namespace cudadiag::symbolize
