// A GPU core dump that the driver writes in the watched process itself.
#pragma once

namespace cudadiag::wire::core_dump {

// The file is called PID and this, in the folder of the pass.
inline constexpr const char* kSuffix = ".gpucore";
// A property of the process: "armed", and "written" once the driver has written one. It then ends the process: the
// error that the recording was frozen at is the recorder's, its code is not known, and its call has not returned.
inline constexpr const char* kProperty = "core_dump";

}  // namespace cudadiag::wire::core_dump
