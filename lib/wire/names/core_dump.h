// A GPU core dump that the driver writes in the watched process itself.
#pragma once

namespace cudadiag::wire::core_dump {

// The file's name is PID and this suffix, in the folder of the pass.
inline constexpr const char* kSuffix = ".gpucore";
// A property of the process: "armed", then "written" once the driver has written a dump, and ends the process. The
// error at which the recording froze is then the recorder's: its code is unknown, and its call has not returned.
inline constexpr const char* kProperty = "core_dump";

}  // namespace cudadiag::wire::core_dump
