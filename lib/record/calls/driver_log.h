// The driver's own explanation of a failed call: "One or more of block dimensions of (2048,1,1) exceeds …"
// (cuLogsRegisterCallback, CUDA 12.9 and later). The driver delivers it on the calling thread before the call returns.
// It stays available on that thread until the thread's next call.
#pragma once

#include <string_view>

#include "record/cupti/driver_api.h"

namespace cudadiag::record::driver_log {

// Asks the driver for explanations, if it has cuLogsRegisterCallback. The program's own callbacks and settings stay
// unchanged.
void start(const DriverApi& driver);

void forget();
// Returns the explanation of the calling thread's current call; empty if there is none.
std::string_view explanation();

}  // namespace cudadiag::record::driver_log
