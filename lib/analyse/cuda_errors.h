// CUDA's error codes: their names, their meaning in one sentence, and how cudadiag treats them. CUresult and
// cudaError_t use the same numbers (source: cuda.h and driver_types.h of CUDA 13.0). If only one of the two types
// defines a code, the other type's name for it is empty.
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

// Returns true if CUDA does not document the cause of this error. The failure may then be in the call that returned the
// error, or in earlier GPU work.
bool is_undocumented(std::uint32_t code);

// Returns whether compute-sanitizer's memcheck detects kernel errors with this code.
bool memcheck_may_help(std::uint32_t code);

using wire::error::is_sticky;

}  // namespace cudadiag::analyse
