// The meaning of the hardware's exception codes.
#pragma once

#include <cstdint>
#include <string>

namespace cudadiag::evidence {

inline constexpr std::uint32_t kAssertion = 12;

// "Warp Illegal Address" for 14; "exception 99" for what is not known here.
std::string exception_name(std::uint32_t code);

// The name of a trap instruction: it stops a warp without a code.
inline constexpr const char* kTrapName = "Trap Instruction";

}  // namespace cudadiag::evidence
