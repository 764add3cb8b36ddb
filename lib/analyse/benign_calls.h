// Failed calls that do not matter: probes, and queries whose answer is an error code.
#pragma once

#include "session/process_record.h"

namespace cudadiag::analyse {

bool is_benign(const session::FailedCall& error);

// Returns whether the call looked up a kernel that its module does not have. This is benign if nothing else is known.
bool found_no_function(const session::FailedCall& error);

// Returns whether CUDA could not start at all: no driver, no GPU, or none for this process. Programs test this to
// choose a CPU path.
bool found_no_device(const session::FailedCall& error);

// Returns whether the error is neither benign nor the echo of an asynchronous failure. If a call only returned an
// earlier call's error, the earlier call decides.
bool is_worth_looking_at(const session::FailedCall& error, const session::ProcessRecord& record);

}  // namespace cudadiag::analyse
