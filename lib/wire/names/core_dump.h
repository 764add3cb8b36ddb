// The files and the property for a GPU core dump of a recorded process. The driver inside that process writes the dump.
#pragma once

#include <cstdint>
#include <cstdio>

namespace cudadiag::wire::core_dump {

inline constexpr const char* kSuffix = ".gpucore";
// The driver creates this pipe, and writes a dump when something is written to the pipe.
inline constexpr const char* kPipeSuffix = ".pipe";
// A process that requests a dump creates this file before it does so. The recorder removes it when the dump is complete.
inline constexpr const char* kRequestSuffix = ".request";

struct FileName {
  char text[48];
};

// Returns `PID-START.gpucore`, the dump's name in the folder of the pass, or the name with another suffix. `start` is the
// process's area::kStartRealtime: the processes of several containers may have the same pid.
inline FileName file_name(std::uint32_t pid, std::uint64_t start, const char* suffix = kSuffix) {
  FileName name;
  std::snprintf(name.text, sizeof name.text, "%u-%llu%s", pid, static_cast<unsigned long long>(start), suffix);
  return name;
}

// A property of the process: kArmed, then kRequested once the driver has written a requested dump, or kWritten once it has
// written another and is about to end the process. After kWritten, the error's code is unknown, because the recorder froze
// before the failing call returned.
inline constexpr const char* kProperty = "core_dump";
inline constexpr const char *kArmed = "armed", *kRequested = "requested", *kWritten = "written";

}  // namespace cudadiag::wire::core_dump
