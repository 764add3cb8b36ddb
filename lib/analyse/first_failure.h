// Finds the operation that caused a process's sticky error. The recording was frozen when a call first returned the
// error.
#pragma once

#include <optional>

#include "analyse/failure.h"
#include "session/process_record.h"
#include "session/session.h"

namespace cudadiag::analyse {

// Finds the operation that caused the process's sticky error. The recording was frozen when a call first returned the
// error. Returns nullopt if there was no sticky error. `process` must outlive the result.
std::optional<Failure> first_failure(const session::Process& process);

// Returns whether the process shares the GPU through the Multi-Process Service (MPS). A fault in another process may
// then break this process too. On an H200 with driver 580, a process received error 700 because another process wrote
// through a null pointer.
bool under_mps(const session::ProcessRecord& record);

// Returns whether the device failed although hooks saw no operation. CUPTI also sees calls through addresses that the
// program looked up early.
bool hooks_saw_nothing(const session::ProcessRecord& record);

}  // namespace cudadiag::analyse
