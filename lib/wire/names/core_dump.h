// The file suffix and the property for a GPU core dump of a recorded process. The driver inside that process writes the
// dump.
#pragma once

namespace cudadiag::wire::core_dump {

// The file is `PID-START.gpucore` in the folder of the pass. START is the process's area::kStartRealtime: the processes
// of several containers may have the same pid.
inline constexpr const char* kSuffix = ".gpucore";
// A property of the process: kArmed, then kWritten once the driver has written a dump and is about to end the process.
// After kWritten, the error's code is unknown, because the recorder froze before the failing call returned.
inline constexpr const char* kProperty = "core_dump";
inline constexpr const char *kArmed = "armed", *kWritten = "written";

}  // namespace cudadiag::wire::core_dump
