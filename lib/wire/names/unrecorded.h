// Why a process that initialised CUDA is not recorded. The recorder stores the reason in the arena's header
// (wire/arena.h). If it cannot reach an arena, it creates an empty file in the session's folder, with the reason in its
// name. An empty file can be created even on a full disk, or if file sizes are limited:
//
//   4711-3-27.unrecorded     process 4711, What::file, errno 27
#pragma once

#include <cstdint>

namespace cudadiag::wire::unrecorded {

enum class What : std::uint32_t {
  nothing = 0,
  address_space = 1,  // with the recording mapped, RLIMIT_AS would leave the program too little address space
  memory = 2,         // the memory that the recording needs could not be mapped
  file = 3,           // no arena could be reached, and no file could be created in the session's folder
  start = 4,          // the recorder could not follow the process's forks or its threads' ends
  data = 5,           // with the recorder's tables, RLIMIT_DATA would leave the program too little memory
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
