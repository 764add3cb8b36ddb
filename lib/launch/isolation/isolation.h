// Confines a rerun with Landlock to the files, devices and ports that it may change or use, and starts it so. Reading
// and executing are always allowed. All paths are absolute and without symbolic links. The supervisor opens files below
// /proc for the rerun (syscall_judge.h), because the CUDA driver names threads there. Confinement applies to a thread
// and cannot be undone.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "launch/isolation/overlays.h"
#include "session/session.h"

namespace cudadiag::launch {

struct Isolation {
  std::vector<std::filesystem::path> folders;  // everything below these may be created, changed and removed
  std::vector<std::filesystem::path> devices;  // device files, or folders of device files, for writing and ioctl
  std::vector<std::filesystem::path> pipes;    // existing pipes, sockets and locks, for writing and connecting
  std::vector<std::uint16_t> ports;            // TCP ports on the loopback interface; all other TCP is refused
  bool any_interface = false;                  // the rerun may listen on `ports` on any interface
  bool shared_memory = false;                  // the rerun may create files in /dev/shm, but not change existing ones
  bool private_network = false;                // the supervisor created a private network, in which all sockets are
                                               // allowed
  std::optional<OverlayRequest> overlays;      // nullopt: the rerun can write only below `folders`
};

// Returns the Landlock version of the running kernel. Returns 0 if the kernel has no Landlock or a container's filter
// forbids it.
int landlock_version();

// Returns the access that every rerun needs: to the GPU's device files, to /dev/null and similar devices, and to the
// MPS daemon's pipes.
Isolation usual_isolation();

// Returns what this machine lacks to isolate reruns, such as "no Landlock"; nullopt if nothing is missing. Isolation
// requires Landlock, and a filter for the calls that Landlock does not cover.
std::optional<std::string> missing_isolation();

// Confines the calling thread and all processes that it starts. Returns 0 on success, otherwise errno.
int confine_this_thread(const Isolation& isolation);

// Converts an Isolation to and from command-line arguments for another process. Unknown arguments are ignored.
std::vector<std::string> isolation_words(const Isolation& isolation);
Isolation isolation_of(const std::vector<std::string>& words);

// Starts a rerun's target from a separate thread, which is confined if isolation is requested. The thread stays
// confined and never exits. The target opens the arena through this thread's /proc entry, because a confined process
// cannot access the memory of another process.
struct ConfinedStart {
  std::string path;
  std::vector<std::string> arguments;    // argv
  std::vector<std::string> environment;  // in the form that execve() takes
  std::optional<Isolation> isolation;
  sigset_t blocked{};  // the target's initial signal mask
  int arena = -1;      // the arena's descriptor in this process
};

struct ConfinedTarget {
  pid_t process = -1;
  int listener = -1;        // the descriptor on which to receive and answer system calls; -1 for none
  int error = 0;            // the errno of the failure; 0 if the target was started
  std::string failed = "";  // the step that failed; empty for exec
};

// Must be called at most once in a process. The thread that it creates never exits.
ConfinedTarget start_confined(ConfinedStart start);

}  // namespace cudadiag::launch
