// Finds which parameters a kernel's machine code uses as addresses of global memory. Reads nvdisasm's text, and follows
// each parameter from the constant bank through registers to the instructions that access memory.
//
// Where paths meet, the possible origins of a register are merged, so no origin of an address is missed. An address
// loaded from memory has no origin, so accesses through it are missed.
//
// The tensor memory accelerator (sm_90 and later) receives the address of a descriptor. The first 8 bytes of the
// descriptor are the address of the memory. Constant bank 0 contains its own address and the address of the parameters.
// Code adds the offset of a descriptor to one of these addresses. The accelerator's access is then attributed to the
// parameter word at that offset.
#pragma once

#include <cstdint>
#include <string_view>

#include "sass/kernel_accesses.h"

namespace cudadiag::sass {

// The location of a kernel's parameters in constant bank 0, in bytes.
struct ParameterBank {
  std::uint32_t offset = 0, size = 0;
};

// Whether functions in other files, and functions called through pointers, may change memory to which they receive
// pointers.
enum class Calls { anything, harmless };

// `zeros` are the words of the launch's parameters to treat as zero. The result is unknown if the text is empty or too
// long.
KernelAccesses read_sass(std::string_view text, ParameterBank bank, Calls calls = Calls::anything, ZeroWords zeros = 0);

}  // namespace cudadiag::sass
