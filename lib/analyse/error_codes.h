// CUDA's error codes, and the failed calls that do not matter. wire/cuda_codes.def has the table of codes.
#pragma once

#include <cstdint>
#include <string_view>

#include "session/process_record.h"
#include "wire/cuda_codes.h"

namespace cudadiag::analyse {

// The names and meanings of CUDA's error codes. wire/cuda_codes.def has the table.
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

namespace cuda = wire::cuda;
using cuda::is_sticky;

// Failed calls that do not matter: probes, and queries whose answer is an error code.
bool is_benign(const session::FailedCall& error);

// Returns whether the call looked up a kernel that its module does not have. The look-up is usually a probe, so it
// matters only if nothing else explains the failure.
bool found_no_function(const session::FailedCall& error);

// Returns whether the call changes nothing because what it asks for is done already, or cannot be done this way. Most
// programs expect this, so it matters only if nothing else explains the failure.
bool found_nothing_to_do(const session::FailedCall& error);

// Returns whether CUDA could not start at all: no driver, no GPU, or no GPU visible to this process. Programs try this
// to decide whether to use the CPU.
bool found_no_device(const session::FailedCall& error, const session::ProcessRecord& record);

// Returns whether the error is neither benign nor the echo of an asynchronous failure. If the call only returned the
// error of an earlier call, checks the earlier call instead.
bool is_worth_looking_at(const session::FailedCall& error, const session::ProcessRecord& record);

}  // namespace cudadiag::analyse
