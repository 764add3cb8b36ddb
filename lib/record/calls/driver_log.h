// The driver's own explanation of a failed call (cuLogsRegisterCallback, CUDA 12.9 and later). Example: "One or more of
// block dimensions of (2048,1,1) exceeds …". The driver delivers the text on the calling thread before the call
// returns. The text stays available on that thread until the thread's next call.
#pragma once

#include <string_view>

#include "record/cupti/driver_api.h"

namespace cudadiag::record::driver_log {

// Registers a callback for the driver's log, if the driver has cuLogsRegisterCallback. The program's own log callbacks
// and settings are unaffected.
void start(const DriverApi& driver);

void forget();
// Returns the explanation of the calling thread's current call.
std::string_view explanation();

}  // namespace cudadiag::record::driver_log
