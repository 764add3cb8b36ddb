// The files of a GPU core dump, and the reason why a process is not recorded, both in the folder of the pass.
#pragma once

#include <cstdint>
#include <cstdio>

// The files and the property for a GPU core dump of a recorded process. The driver inside that process writes the dump.
namespace cudadiag::wire::core_dump {

inline constexpr const char* kSuffix = ".gpucore";
// The driver creates this pipe, and writes a dump when something is written to the pipe.
inline constexpr const char* kPipeSuffix = ".pipe";
// A process that requests a dump creates this file before it does so. The recorder removes it when the dump is
// complete.
inline constexpr const char* kRequestSuffix = ".request";

struct FileName {
  char text[48];
};

// Returns `PID-START.gpucore`, the dump's name in the folder of the pass, or the name with another suffix. `start` is
// the process's area::kStartRealtime: the processes of several containers may have the same pid.
inline FileName file_name(std::uint32_t pid, std::uint64_t start, const char* suffix = kSuffix) {
  FileName name;
  std::snprintf(name.text, sizeof name.text, "%u-%llu%s", pid, static_cast<unsigned long long>(start), suffix);
  return name;
}

// A property of the process: kArmed, then kRequested once the driver has written a requested dump, or kWritten once it
// has written another and is about to end the process. After kWritten, the error's code is unknown, because the
// recorder froze before the failing call returned.
inline constexpr const char* kProperty = "core_dump";
inline constexpr const char *kArmed = "armed", *kRequested = "requested", *kWritten = "written";

}  // namespace cudadiag::wire::core_dump

// Why a process that initialised CUDA is not recorded. The recorder stores the reason in the arena's header
// (wire/area.h). If it cannot reach an arena, it creates an empty file in the session's folder, with the reason in its
// name. This works even if the disk is full or file sizes are limited:
//
//   4711-3-27.unrecorded     process 4711, What::file, errno 27
namespace cudadiag::wire::unrecorded {

enum class What : std::uint32_t {
  nothing = 0,
  address_space = 1,  // RLIMIT_AS is too low for both the recording and the program
  memory = 2,         // mmap failed for the memory of the recording
  file = 3,           // no arena was reachable, and no file could be created in the session's folder
  start = 4,          // the recorder could not register for the process's forks or the ends of its threads
  data = 5,           // RLIMIT_DATA is too low for both the recorder's tables and the program
};

inline constexpr const char* kExtension = ".unrecorded";

// One 32-bit word, so that a single store publishes it:
//
//   31     16 15      0
//   +--------+--------+
//   |  What  | errno  |
//   +--------+--------+
constexpr std::uint32_t pack(What what, int error) {
  return static_cast<std::uint32_t>(what) << 16 | (static_cast<std::uint32_t>(error) & 0xffffu);
}
constexpr What what_of(std::uint32_t word) { return static_cast<What>(word >> 16); }
constexpr int error_of(std::uint32_t word) { return static_cast<int>(word & 0xffffu); }

}  // namespace cudadiag::wire::unrecorded
