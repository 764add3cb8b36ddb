// Reads one kernel's machine code as nvdisasm prints it. Follows the parameters from the constant bank through the
// registers to the instructions that access global memory.
//
// Sets of origins are joined where paths meet, so no possible origin of an address is missed. Addresses loaded from
// memory have no origins, so memory that a kernel reaches through them is not seen.
//
// The tensor memory accelerator (sm_90 and later) receives the address of a descriptor, whose first 8 bytes are the
// address of the memory. The driver leaves the addresses of the parameters and of constant bank 0 in that bank. A
// descriptor in the parameters is found when code adds its offset to one of these addresses. The accelerator's access
// then counts for the word at that offset.
#pragma once

#include <cstdint>
#include <string_view>

#include "sass/kernel_accesses.h"

namespace cudadiag::sass {

// The place of a kernel's parameters in constant bank 0.
struct ParameterBank {
  std::uint32_t offset = 0, size = 0;
};

// The effects that functions in other files, or functions called by address, may have on memory that they get pointers
// to.
enum class Calls { anything, harmless };

// Assumes that these words of the launch's parameters are zero. The result is unknown if the text is empty or too long.
KernelAccesses read_sass(std::string_view text, ParameterBank bank, Calls calls = Calls::anything, ZeroWords zeros = 0);

}  // namespace cudadiag::sass
