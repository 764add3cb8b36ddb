// CUDA's error codes: names, one sentence of meaning, and how cudadiag treats each. CUresult and cudaError_t share
// their numbers (source: cuda.h and driver_types.h of CUDA 13.0). If only one of them has a code, the other's name is
// empty.
#pragma once

#include <cstdint>
#include <string_view>

#include "wire/error.h"

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

// True if CUDA does not document what causes the code. We then cannot tell which failed: the call that returned the
// code, or earlier GPU work.
bool is_undocumented(std::uint32_t code);

// Kernel errors that compute-sanitizer's memcheck detects.
bool memcheck_may_help(std::uint32_t code);

using wire::error::is_sticky;

}  // namespace cudadiag::analyse
