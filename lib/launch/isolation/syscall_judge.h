// Checks the system calls of an isolated rerun, and records the actions that it refuses. Must be used from one thread.
// The kernel may still refuse a call that passes this check, because of Landlock or the user's rights. A program can
// deceive this check by changing its arguments afterwards. It cannot deceive Landlock.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "launch/isolation/isolation.h"
#include "launch/isolation/seen_path.h"
#include "launch/isolation/syscall_rules.h"
#include "session/session.h"

struct seccomp_data;

namespace cudadiag::launch {

struct Endpoint;

class SyscallJudge {
 public:
  // `owner`: the process from which all processes of the rerun descend. Calls `on_made` for each file and folder that
  // it creates in shared memory. `overlays`: null if the rerun has none; must outlive this object.
  SyscallJudge(Isolation isolation, pid_t owner, int landlock_version,
               std::function<void(const FileIdentity&)> on_made = {}, const Overlays* overlays = nullptr);

  struct Verdict {
    int error = 0;  // 0 to let the kernel execute the call, unless this process has executed it:
    std::optional<session::KeptFrom> kept;
    bool done = false;  // the call returns 0
    int file = -1;      // the call returns this descriptor of the judge, which closes it at the next call
    bool close_on_exec = false;
  };
  // `thread` issued the call, and is blocked until the supervisor answers the call.
  Verdict judge(const seccomp_data& call, pid_t thread);

  // Call this if the caller did not get the result of a verdict with `done` or `file`: removes what the call created.
  void undo();

  // Removes the files that the rerun created in /dev/shm and did not remove.
  void clean_shared_memory() const { remove_from_shared_memory(made_); }
  static void remove_from_shared_memory(const std::set<FileIdentity>& made);

 private:
  struct Call;
  Verdict judge_open(const Call& call, std::uint64_t flags, std::uint64_t mode);
  Verdict judge_open_how(const Call& call);
  Verdict judge_path(const Call& call);
  Verdict judge_two_paths(const Call& call);
  Verdict judge_descriptor(const Call& call, int descriptor);
  Verdict judge_control(const Call& call);
  Verdict judge_address(const Call& call, std::uint64_t address, std::uint64_t bytes);
  Verdict judge_endpoint(const Call& call, const Endpoint& endpoint);
  Verdict judge_local_address(const Call& call, std::span<const char> address);
  Verdict judge_messages(const Call& call, std::uint64_t first, std::size_t count, std::size_t stride);
  Verdict judge_listen(const Call& call);
  Verdict judge_process(const Call& call, pid_t process);
  Verdict judge_processes(const Call& call, pid_t process);
  Verdict judge_group(const Call& call, pid_t group);
  Verdict judge_pidfd(const Call& call);
  Verdict judge_events(const Call& call);
  Verdict judge_priority(const Call& call);

  // Opens or creates the file in /dev/shm or /proc itself. If the kernel did, nobody would know which file it created,
  // and the program could replace the path after the check.
  Verdict open_here(const Call& call, const SeenPath& seen, std::uint64_t flags, std::uint64_t mode);
  Verdict make_shared_folder(const Call& call, const SeenPath& seen);
  Verdict remove_shared(const SeenPath& seen);
  void remember(const FileIdentity& identity);

  // Returns true for a process that the rerun started, and for its threads.
  bool is_of_rerun(pid_t process) const;
  bool is_own_process(const SeenPath& seen) const;
  // Returns true if the rerun created this entry of /dev/shm, or the entry that contains the file.
  bool is_made(const SeenPath& seen) const;
  bool may_change(const SeenPath& seen) const;
  bool is_device(const SeenPath& seen) const { return is_below(seen.path, isolation_.devices); }
  // Returns true if the rerun may open the file for writing, or connect to the socket.
  bool may_use(const SeenPath& seen) const;
  bool may_make(const SeenPath& seen) const;
  bool is_fixed(const std::filesystem::path& path) const { return overlays_ != nullptr && overlays_->is_fixed(path); }
  // Returns true if the kernel would first copy the file to an overlay, and the file is larger than that may be.
  bool is_too_large(const SeenPath& seen) const;
  bool copies_whole() const { return overlays_ != nullptr && overlays_->copies_whole(); }
  SeenPath see(const Call& call, int folder_argument, int path_argument, bool follows) const;

  // Returns true if the kernel would refuse to change this file even without isolation, because the user lacks the
  // rights or the file system is read-only.
  bool is_refused_anyway(const std::filesystem::path& path) const;

  Isolation isolation_;
  const Overlays* overlays_;
  pid_t owner_;
  int landlock_version_;
  std::set<std::string> addresses_;    // the addresses of the rerun's private network
  std::set<std::uint16_t> met_ports_;  // the ports in the private network that the rerun tried to connect to
  std::set<FileIdentity> made_;        // the files and folders that the rerun created directly in /dev/shm
  std::function<void(const FileIdentity&)> on_made_;
  std::filesystem::path made_now_;  // the entry that the latest call created; empty: none
  base::FileDescriptor opened_;     // the file of the latest verdict
  std::set<std::string> sockets_;   // the abstract names to which the rerun bound sockets
};

}  // namespace cudadiag::launch
