// Why a process that initialised CUDA is not recorded. The recorder stores the reason in the arena's header
// (wire/arena.h). If it cannot reach an arena, it creates an empty file in the session's folder, with the reason in its
// name. This works even if the disk is full or file sizes are limited:
//
//   4711-3-27.unrecorded     process 4711, What::file, errno 27
#pragma once

#include <cstdint>

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
