// Failed calls that do not matter: probes, and queries whose answer is an error code.
#pragma once

#include "session/process_record.h"

namespace cudadiag::analyse {

bool is_benign(const session::FailedCall& error);

// Returns whether the call looked up a kernel that its module does not have. The look-up is usually a probe, so it
// matters only if nothing else explains the failure.
bool found_no_function(const session::FailedCall& error);

// Returns whether the call changes nothing because what it asks for is done already, or cannot be done this way. Most
// programs expect this, so it matters only if nothing else explains the failure.
bool found_nothing_to_do(const session::FailedCall& error);

// Returns whether CUDA could not start at all: no driver, no GPU, or no GPU visible to this process. Programs try this
// to decide whether to use the CPU.
bool found_no_device(const session::FailedCall& error);

// Returns whether the error is neither benign nor the echo of an asynchronous failure. If the call only returned the
// error of an earlier call, checks the earlier call instead.
bool is_worth_looking_at(const session::FailedCall& error, const session::ProcessRecord& record);

}  // namespace cudadiag::analyse
