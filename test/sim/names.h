// Names of error codes and callback ids, taken from NVIDIA's headers when the build is configured.
#pragma once

#include <cstdint>
#include <iterator>

namespace sim {

struct Name {
  std::uint32_t number;
  const char* text;
};

inline constexpr Name kDriverErrors[] = {
#include "driver_errors.inc"
};
inline constexpr Name kRuntimeErrors[] = {
#include "runtime_errors.inc"
};
inline constexpr Name kDriverCalls[] = {
#include "driver_calls.inc"
};
inline constexpr Name kRuntimeCalls[] = {
#include "runtime_calls.inc"
};

template <std::size_t Count>
const char* name_in(const Name (&table)[Count], std::uint32_t number) {
  for (const Name& name : table) {
    if (name.number == number) return name.text;
  }
  return nullptr;
}

// Returns a sentence for the most common codes, the name of any other known code, or null for an unknown code.
inline const char* error_text(std::uint32_t code) {
  switch (code) {
    case 0:
      return "no error";
    case 1:
      return "invalid argument";
    case 2:
      return "out of memory";
    case 9:
      return "invalid configuration argument";
    case 700:
      return "an illegal memory access was encountered";
    case 710:
      return "device-side assert triggered";
    case 716:
      return "misaligned address";
    case 719:
      return "unspecified launch failure";
    default: {
      const char* name = name_in(kDriverErrors, code);
      return name ? name : name_in(kRuntimeErrors, code);
    }
  }
}

}  // namespace sim
