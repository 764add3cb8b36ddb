// The files, devices and ports that a rerun may change or use. Landlock protects everything else. Reading and executing
// are always allowed. All paths are absolute and without symbolic links. Landlock leaves /proc writable, because the
// CUDA driver names threads there; call_judge.h decides about each file below /proc. Confining applies to a thread and
// cannot be undone.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "session/session.h"

namespace cudadiag::launch {

struct Isolation {
  std::vector<std::filesystem::path> folders;  // everything below them may be created, changed and removed
  std::vector<std::filesystem::path> devices;  // device files, or folders of device files; write and ioctl are allowed
  std::vector<std::filesystem::path> pipes;    // existing pipes, sockets and locks, for writing and connecting
  std::vector<std::uint16_t> ports;            // on the loopback interface; all other TCP is refused
  bool any_interface = false;                  // the rerun may listen on `ports` on any interface
  bool shared_memory = false;                  // new files in /dev/shm are allowed; existing ones are refused
  bool private_network = false;                // the supervisor created a network, where all sockets are allowed
};

inline constexpr const char* kSharedMemory = "/dev/shm";

// Returns the Landlock version of this kernel; 0 if it has no Landlock, or if a container's filter forbids it.
int landlock_version();

// Returns the access that every rerun needs: the GPU's device files, /dev/null and similar, and the MPS daemon's pipes.
Isolation usual_isolation();

// Names a feature that this machine lacks for isolating reruns, as in "no Landlock"; nullopt if it lacks none.
// Isolation needs Landlock, and a filter for the calls that Landlock does not cover.
std::optional<std::string> missing_isolation();

// Confines the calling thread and all processes that it starts. Returns 0, or the errno of the failure.
int confine_this_thread(const Isolation& isolation);

// Converts an isolation to command-line arguments for another process, and back. Ignores unknown arguments.
std::vector<std::string> isolation_words(const Isolation& isolation);
Isolation isolation_of(const std::vector<std::string>& words);

// Whether `path` is one of `folders` or below one of them.
bool is_below(const std::filesystem::path& path, const std::vector<std::filesystem::path>& folders);

}  // namespace cudadiag::launch
