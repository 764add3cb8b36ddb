// The driver's own explanation of a failed call: "One or more of block dimensions of (2048,1,1) exceeds …"
// (cuLogsRegisterCallback, CUDA 12.9 and later). The driver gives it on the calling thread, before the call returns; it
// is kept for that thread until its next call.
#pragma once

#include <string_view>

#include "record/cupti/driver_api.h"

namespace cudadiag::record::driver_log {

// Without the entry point there are no explanations. What the program registers or sets for itself stays as it is.
void start(const DriverApi& driver);

void forget();
// For the calling thread's call; empty: there is none.
std::string_view explanation();

}  // namespace cudadiag::record::driver_log
