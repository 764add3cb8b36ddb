// The file suffix and the property for a GPU core dump of a recorded process. The driver inside that process writes the
// dump.
#pragma once

#include <cstdint>
#include <cstdio>

namespace cudadiag::wire::core_dump {

inline constexpr const char* kSuffix = ".gpucore";

struct FileName {
  char text[48];
};

// Returns `PID-START.gpucore`, the dump's name in the folder of the pass. `start` is the process's area::kStartRealtime:
// the processes of several containers may have the same pid.
inline FileName file_name(std::uint32_t pid, std::uint64_t start) {
  FileName name;
  std::snprintf(name.text, sizeof name.text, "%u-%llu%s", pid, static_cast<unsigned long long>(start), kSuffix);
  return name;
}

// A property of the process: kArmed, then kWritten once the driver has written a dump and is about to end the process.
// After kWritten, the error's code is unknown, because the recorder froze before the failing call returned.
inline constexpr const char* kProperty = "core_dump";
inline constexpr const char *kArmed = "armed", *kWritten = "written";

}  // namespace cudadiag::wire::core_dump
