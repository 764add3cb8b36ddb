// The names and meanings of CUDA's error codes. wire/cuda_codes.def has the table.
#pragma once

#include <cstdint>
#include <string_view>

#include "wire/cuda_codes.h"

namespace cudadiag::analyse {

struct CudaError {
  std::uint32_t code;
  std::string_view driver_name;   // "CUDA_ERROR_ILLEGAL_ADDRESS"
  std::string_view runtime_name;  // "cudaErrorIllegalAddress"
  std::string_view title;         // "illegal memory access": for a headline
  std::string_view meaning;       // one sentence
};

// Returns an entry with "unknown" texts for a code that is not in the table.
CudaError cuda_error(std::uint32_t code);

// Returns true if CUDA does not document the cause of this error. The failure may then be in the call that returned the
// error, or in earlier GPU work.
bool is_undocumented(std::uint32_t code);

// Returns whether a single fault may raise either error, depending on chance. An exception in a kernel's code is of
// another kind than an assertion of the program, a time-out, and a failure of the hardware or of another process.
bool are_of_one_kind(std::uint32_t code, std::uint32_t other);

namespace cuda = wire::cuda;
using cuda::is_sticky;

}  // namespace cudadiag::analyse
