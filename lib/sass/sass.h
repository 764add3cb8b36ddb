// Reads a kernel's machine code as nvdisasm prints it. Follows the parameters from the constant bank through the
// registers to the instructions that access global memory.
//
// Sets of origins are joined where paths meet, so no possible origin of an address is missed. An address that is loaded
// from memory has no origin, so accesses through it are not seen.
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

// Where constant bank 0 has a kernel's parameters.
struct ParameterBank {
  std::uint32_t offset = 0, size = 0;
};

// Whether functions in other files, or functions called by address, may change memory that they get pointers to.
enum class Calls { anything, harmless };

// `zeros`: words of the launch's parameters to treat as zero. The result is unknown if the text is empty or too long.
KernelAccesses read_sass(std::string_view text, ParameterBank bank, Calls calls = Calls::anything, ZeroWords zeros = 0);

}  // namespace cudadiag::sass
