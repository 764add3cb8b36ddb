// Reads NVIDIA's assembler as nvdisasm prints one kernel's code, and follows its parameters from the constant bank
// through the registers to the instructions that touch global memory.
//
// Sets of origins are joined where paths meet, so an address is never given too few. Addresses that are loaded from
// memory have none: what a kernel reaches through them is not seen.
//
// The tensor memory accelerator (sm_90 and later) is given no address of memory but that of a descriptor, whose first 8
// bytes are the address. A descriptor among the parameters is found where code adds its distance from their beginning,
// or from that of constant bank 0, to the address of these that the driver leaves in that bank; what the accelerator
// does, it does to the word at that distance.
#pragma once

#include <cstdint>
#include <string_view>

#include "sass/kernel_accesses.h"

namespace cudadiag::sass {

// Where a kernel's parameters lie in constant bank 0.
struct ParameterBank {
  std::uint32_t offset = 0, size = 0;
};

// The possible effects of functions in other files, or called by their address, on the memory they are given.
enum class Calls { anything, harmless };

// For launches whose parameters have these zeros. Not known if there is no text, or too much.
KernelAccesses read_sass(std::string_view text, ParameterBank bank, Calls calls = Calls::anything, ZeroWords zeros = 0);

}  // namespace cudadiag::sass
