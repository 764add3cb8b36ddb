// Names for a GPU core dump that the driver writes in the watched process itself.
#pragma once

namespace cudadiag::wire::core_dump {

// The suffix of the file, which is named after the process id and lies in the pass's folder.
inline constexpr const char* kSuffix = ".gpucore";
// A property of the process: "armed", then "written" once the driver has written a dump and is about to end the
// process. In the latter case, the recorder froze before the failing call returned, so the error's code is unknown.
inline constexpr const char* kProperty = "core_dump";

}  // namespace cudadiag::wire::core_dump
