// The things that a rerun may change; Landlock keeps it from all others. Reading and executing stay free.
// A value: paths are absolute, without symbolic links. Files below /proc stay writable for the kernel, as the CUDA driver
// names threads there: which of them, the judge of the calls decides (call_judge.h). Confining is per thread and cannot be undone.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "session/session.h"

namespace cudadiag::launch {

struct Isolation {
  std::vector<std::filesystem::path> folders;  // everything below them may be made, changed and removed
  std::vector<std::filesystem::path> devices;  // device files, or folders of them, that may be written and controlled
  std::vector<std::filesystem::path> pipes;    // existing pipes, sockets and locks that may be written and joined
  std::vector<std::uint16_t> ports;            // on the loopback interface; all other TCP is refused
  bool any_interface = false;                  // `ports` may be listened on wherever they are asked for
  bool shared_memory = false;                  // new files in /dev/shm; existing ones are refused
  bool private_network = false;                // the supervisor made one: all sockets in it may be used
};

inline constexpr const char* kSharedMemory = "/dev/shm";

// The kernel's version of Landlock; 0: it has none, or a container's filter refuses it.
int landlock_version();

// Every rerun needs these: the GPU's device files, /dev/null and the like, the pipes of the MPS daemon.
Isolation usual_isolation();

// The lack that keeps reruns from being isolated here: "no Landlock"; nothing: they can be. Isolation takes Landlock, and
// checks of the calls that Landlock does not cover.
std::optional<std::string> missing_isolation();

// Confines the calling thread and all processes that it starts. 0, or the errno of what went wrong.
int confine_this_thread(const Isolation& isolation);

// Converts to the arguments of another process, and back. Ignores foreign words.
std::vector<std::string> isolation_words(const Isolation& isolation);
Isolation isolation_of(const std::vector<std::string>& words);

// Whether `path` is one of `folders` or below one of them.
bool is_below(const std::filesystem::path& path, const std::vector<std::filesystem::path>& folders);

}  // namespace cudadiag::launch
