// Constants and traits of CUDA's error codes, from the table in cuda_codes.def. Each question about a code is asked
// here; analyse/error_codes.h has the codes' names and meanings.
#pragma once

#include <cstdint>

namespace cudadiag::wire::cuda {

enum Trait : unsigned {
  sticky = 1,          // the context is lost: every later call in it fails too
  leaves_dump = 2,     // the driver can write a GPU core dump; none for time-outs and hardware errors
  only_kernels = 4,    // copies and memsets raise only 700, 719 and hardware errors
  memcheck_helps = 8,  // compute-sanitizer's memcheck detects its cause in a kernel
  bad_address = 16,    // illegal, misaligned, or in the wrong memory space
  of_capture = 32,     // stream capture
};

enum Code : std::uint32_t {
#define CUDA_CODE(code, driver_name, runtime_name, constant, traits, title, meaning) constant = code,
#include "wire/cuda_codes.def"
#undef CUDA_CODE
};

constexpr bool has(std::uint32_t code, Trait trait) {
  switch (code) {
#define CUDA_CODE(code, driver_name, runtime_name, constant, traits, title, meaning) \
  case code:                                                                         \
    return ((traits)&trait) != 0;
#include "wire/cuda_codes.def"
#undef CUDA_CODE
    default:
      return false;
  }
}

constexpr bool is_sticky(std::uint32_t code) { return has(code, sticky); }
constexpr bool is_of_capture(std::uint32_t code) { return has(code, of_capture); }

}  // namespace cudadiag::wire::cuda
