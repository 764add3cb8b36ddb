// Names the hardware's exception codes.
#pragma once

#include <cstdint>
#include <string>

namespace cudadiag::evidence {

inline constexpr std::uint32_t kAssertion = 12;

// Returns "Warp Illegal Address" for 14, and "exception 99" for an unknown code.
std::string exception_name(std::uint32_t code);

// The name used for a trap instruction, which stops a warp but sets no exception code.
inline constexpr const char* kTrapName = "Trap Instruction";

}  // namespace cudadiag::evidence
