// A rerun, as seen by its launcher, and the supervisor process between the two. All processes of the rerun descend from
// the supervisor or are adopted by it, so no unrelated process is mistaken for one of them. Only processes of the rerun
// are ever signalled. When the launcher dies or requests it, the supervisor kills these processes and removes the
// private folder. The supervisor also starts the target. If isolation is requested, it confines the target and checks
// its system calls. If the supervisor is killed, stopped or blocked, the launcher kills the processes that it has seen
// in the rerun's tree.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "base/files.h"
#include "base/processes.h"
#include "launch/isolation/isolation.h"
#include "launch/isolation/seen_path.h"
#include "launch/spawn.h"
#include "session/session.h"

namespace cudadiag::launch {

struct SupervisedOptions {
  int input = -1;                      // the command's standard input; -1: inherited from this process
  int output = -1;                     // the command's standard output and error; -1: inherited from this process
  std::string directory;               // the command's working folder, from which it is also looked up; empty:
                                       // inherited
  int arena = -1;                      // the descriptor of the arena that the command records to; -1: none
  std::optional<Isolation> isolation;  // nullopt: the command keeps all rights of this process
  int remove = -1;                     // the descriptor of a folder to remove after the rerun; -1: none
  std::chrono::milliseconds patience = std::chrono::minutes(1);  // for the start; a supervisor that gets no CPU time
                                                                 // sends nothing for a while
  std::string mark;  // a "NAME=value" from `environment` that no other process has
};

class Supervised {
 public:
  static std::variant<Supervised, SpawnFailure> spawn(const std::vector<std::string>& command,
                                                      const std::vector<std::string>& environment,
                                                      const SupervisedOptions& options);
  Supervised(Supervised&&) = default;
  Supervised& operator=(Supervised&&) = delete;
  ~Supervised() = default;

  // Handles the supervisor's messages, and reaps exited processes. Returns true once the target and everything that it
  // started are gone or cannot be killed. Call this regularly: it also records the process tree, in case the supervisor
  // is killed.
  bool reap();
  // Asks all processes of the rerun to exit, and kills those that remain after `grace`. reap() returns true when this
  // is done. If no more processes exit for `patience` after `grace`, kills the supervisor too, and gives up on what
  // remains. A later call can only shorten these times.
  void end(std::chrono::milliseconds grace, std::chrono::milliseconds patience);
  // halt() stops all processes of the rerun. resume() continues them.
  void halt();
  void resume();

  // Returns how the target ended. If the supervisor was killed, this is unknown, and neither code nor signal is set.
  const session::ProcessEnd& end() const { return end_; }
  bool has_ended() const { return ended_; }
  // Returns true if the terminal stopped the rerun because the rerun read from the terminal. Such a rerun is killed.
  bool asked_terminal() const { return asked_terminal_; }
  // Returns the actions that were refused during the rerun, without duplicates.
  const std::vector<session::KeptFrom>& kept_from() const { return kept_from_; }
  // Returns what was to be hidden from the rerun, but was not.
  const std::vector<std::filesystem::path>& not_hidden() const { return not_hidden_; }
  // Returns the processes that could not be killed, because they belong to another user, or are stuck in a driver or in
  // a call to a file server. May include the supervisor.
  const std::vector<pid_t>& left() const { return left_; }
  // Returns the number of bytes that the rerun's live processes have written, to any destination.
  std::uint64_t bytes_written() const;
  pid_t supervisor() const { return supervisor_; }

 private:
  Supervised(pid_t supervisor, base::FileDescriptor socket, const SupervisedOptions& options)
      : supervisor_(supervisor),
        since_(base::state_of(supervisor).start),
        socket_(std::move(socket)),
        mark_(options.mark),
        isolated_(options.isolation.has_value()) {}
  void hear();
  void watch_tree();
  void take_over();
  void end_orphans(std::chrono::milliseconds patience);
  bool is_member(pid_t process) const;

  pid_t supervisor_;
  std::uint64_t since_;  // the start time of the supervisor
  base::FileDescriptor socket_;
  std::string mark_;
  bool isolated_;
  pid_t target_ = 0;
  bool started_ = false, closed_ = false, reaped_ = false;
  std::optional<SpawnFailure> failure_;
  bool ended_ = false, asked_terminal_ = false;
  session::ProcessEnd end_;
  std::vector<session::KeptFrom> kept_from_;
  std::vector<std::filesystem::path> not_hidden_;
  std::set<FileIdentity> made_;  // what the rerun created in shared memory
  std::vector<pid_t> left_;
  std::map<pid_t, std::uint64_t> tree_;  // by pid, the start time of each process seen in the rerun's tree
  using Time = std::chrono::steady_clock::time_point;
  Time watch_again_{};
  std::optional<Time> kill_at_, give_up_at_;  // set by end()
  std::optional<Time> over_at_;               // when the supervisor sent its last packet
  bool asked_to_give_up_ = false;
  std::size_t fewest_ = SIZE_MAX;  // processes in the tree since kill_at_
};

// ---- the supervisor

// Runs the hidden command (supervision::kCommand). Returns the exit status of this process.
int supervise(int argc, char** argv);

// The packets between a launcher and the supervisor of a rerun. Both processes run the same program, and are connected
// by a pair of sockets. If one process closes its socket, the other kills the rerun's processes.
namespace supervision {

// The supervisor's hidden command, and its arguments before "--". The target's path and argv follow after "--".
inline constexpr const char* kCommand = "__supervise";
inline constexpr const char* kSocketWord = "--socket=";
inline constexpr const char* kArenaWord = "--arena=";
inline constexpr const char* kRemoveWord = "--remove=";  // the descriptor of a folder
inline constexpr const char* kIsolateWord = "--isolate";

struct Packet {
  enum class Kind : std::uint32_t {
    // Sent by the supervisor.
    started,  // number: the target's pid
    failed,   // the target could not be started; number: errno, text: the step that failed, empty for exec
    kept,     // an action was refused; number: session::Deed, text: its object
    seen,     // a name could not be hidden; text: its path
    made,     // the rerun created a file in shared memory; text: the bytes of its FileIdentity
    stopped,  // the terminal stopped the target; number: the signal
    ended,    // the target ended; number: its wait status
    left,     // number: the pid of a process that could not be killed
    over,     // all processes are gone, except those reported by `left`
    // Sent by the launcher.
    end,      // number: milliseconds between asking the processes to exit and killing them
    give_up,  // stop waiting for processes that do not die, clean up and exit
    halt,     // stop all processes, because the launcher itself is being stopped
    resume,
  };
  Kind kind = Kind::over;
  std::int32_t number = 0;
  std::string text;
};

// Returns false if the packet cannot be sent, for example because the other end is closed.
bool send(int socket, const Packet& packet);
// Like send(), but fails instead of waiting for the other end to take packets.
bool send_at_once(int socket, const Packet& packet);
// Never blocks. Returns nullopt if no packet has arrived. Sets `closed` if no more packets will arrive.
std::optional<Packet> receive(int socket, bool& closed);

}  // namespace supervision

}  // namespace cudadiag::launch
