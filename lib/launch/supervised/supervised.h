// A rerun as its launcher sees it. A supervisor process owns everything that the rerun starts. Only processes of the
// rerun are ever signalled. If the supervisor is killed, the launcher ends the processes that it has seen in the
// rerun's tree.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/file_descriptor.h"
#include "launch/isolation/isolation.h"
#include "launch/process.h"
#include "session/session.h"

namespace cudadiag::launch {

struct SupervisedOptions {
  int input = -1;                      // its standard input; -1 to inherit this process's
  int output = -1;                     // its standard output and error; -1 to inherit this process's
  std::string directory;               // the folder in which the command starts and is looked up; empty: this process's
  int arena = -1;                      // the memory that it records to; -1 for none
  std::optional<Isolation> isolation;  // nullopt to leave it all rights of this process
  std::string remove;                  // a folder to remove when it has ended; empty for none
  std::string mark;                    // "NAME=value" from `environment` that no other process has
};

class Supervised {
 public:
  static std::variant<Supervised, SpawnFailure> spawn(const std::vector<std::string>& command,
                                                      const std::vector<std::string>& environment,
                                                      const SupervisedOptions& options);
  Supervised(Supervised&&) = default;
  Supervised& operator=(Supervised&&) = delete;
  ~Supervised() = default;

  // Handles the supervisor's messages, and reaps ended processes. Returns true once the target and everything that it
  // started are gone or cannot be ended. Call this regularly: it also records the process tree, in case the supervisor
  // is killed.
  bool reap();
  // Asks all processes of the rerun to end, and kills those left after `grace`. Once that is done, reap() returns true.
  void end(std::chrono::milliseconds grace);
  // halt() stops all processes of the rerun, and resume() continues them.
  void halt();
  void resume();

  // Returns how the target ended. If the supervisor was killed, this is unknown: neither code nor signal is set.
  const session::ProcessEnd& end() const { return end_; }
  bool has_ended() const { return ended_; }
  // Whether the terminal stopped the rerun because it read from the terminal. Such a rerun is ended.
  bool asked_terminal() const { return asked_terminal_; }
  // Returns the actions that the rerun was kept from, without duplicates.
  const std::vector<session::KeptFrom>& kept_from() const { return kept_from_; }
  // Returns the processes that could not be ended, because they belong to another user or are stuck in a driver.
  const std::vector<pid_t>& left() const { return left_; }
  // Returns the number of bytes that the live processes of the rerun have written, to any destination.
  std::uint64_t bytes_written() const;
  pid_t supervisor() const { return supervisor_; }

 private:
  Supervised(pid_t supervisor, base::FileDescriptor socket, const SupervisedOptions& options)
      : supervisor_(supervisor),
        socket_(std::move(socket)),
        mark_(options.mark),
        isolated_(options.isolation.has_value()) {}
  void hear();
  void reap_children();
  void watch_tree();
  void end_orphans();
  bool is_member(pid_t process) const;

  pid_t supervisor_;
  base::FileDescriptor socket_;
  std::string mark_;
  bool isolated_;
  pid_t target_ = 0;
  bool started_ = false, closed_ = false, over_ = false, reaped_ = false;
  std::optional<SpawnFailure> failure_;
  bool ended_ = false, asked_terminal_ = false;
  session::ProcessEnd end_;
  std::vector<session::KeptFrom> kept_from_;
  std::vector<pid_t> left_;
  std::map<pid_t, std::uint64_t> tree_;  // the start time of each process of the rerun, from /proc
  std::chrono::steady_clock::time_point watch_again_{};
};

}  // namespace cudadiag::launch
