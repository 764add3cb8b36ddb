// The file suffix and the property for a GPU core dump of a recorded process. The driver inside that process writes the
// dump.
#pragma once

namespace cudadiag::wire::core_dump {

// The file is `PID.gpucore` in the folder of the pass.
inline constexpr const char* kSuffix = ".gpucore";
// A property of the process: "armed", then "written" once the driver has written a dump and is about to end the
// process. After "written", the error's code is unknown, because the recorder froze before the failing call returned.
inline constexpr const char* kProperty = "core_dump";

}  // namespace cudadiag::wire::core_dump
