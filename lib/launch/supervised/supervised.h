// A rerun as its launcher sees it: under a supervisor process that owns all that the rerun starts. Nothing else is ever
// signalled; if the supervisor is killed, this side ends what it has seen of its tree.
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
  int input = -1;                      // its standard input; -1: ours
  int output = -1;                     // its standard output and error; -1: ours
  std::string directory;               // the folder in which it starts and its path is resolved; empty: this process's
  int arena = -1;                      // the memory that it records to; -1: none
  std::optional<Isolation> isolation;  // nothing: it may do what this process may
  std::string remove;                  // a folder that goes with it; empty: none
  std::string mark;                    // "NAME=value" of `environment` that no other process has
};

class Supervised {
 public:
  static std::variant<Supervised, SpawnFailure> spawn(const std::vector<std::string>& command,
                                                      const std::vector<std::string>& environment,
                                                      const SupervisedOptions& options);
  Supervised(Supervised&&) = default;
  Supervised& operator=(Supervised&&) = delete;
  ~Supervised() = default;

  // Takes in what has happened, and reaps. True once the target and all that it started are gone, or cannot be ended.
  // To be called every so often, or nothing is known of its tree should the supervisor be killed.
  bool reap();
  // Asks all of it to end, and kills what is left after `grace`. It is over when reap() returns true.
  void end(std::chrono::milliseconds grace);
  // Stops all of it, and lets it run on.
  void halt();
  void resume();

  // How the target ended; neither code nor signal: not known, as the supervisor was killed.
  const session::ProcessEnd& end() const { return end_; }
  bool has_ended() const { return ended_; }
  // The terminal stopped it, because it asked the terminal for input; it is then ended.
  bool asked_terminal() const { return asked_terminal_; }
  // The things that it was kept from, each once.
  const std::vector<session::KeptFrom>& kept_from() const { return kept_from_; }
  // Processes that could not be ended: another user's, or stuck in a driver.
  const std::vector<pid_t>& left() const { return left_; }
  // Bytes that all of its processes now alive have written, to wherever.
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
  std::map<pid_t, std::uint64_t> tree_;  // when each of its processes started, as /proc has it
  std::chrono::steady_clock::time_point watch_again_{};
};

}  // namespace cudadiag::launch
