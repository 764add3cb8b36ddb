#include "launch/supervised/supervised.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <set>
#include <utility>

#include "base/processes.h"
#include "launch/children.h"
#include "launch/command_path.h"
#include "launch/supervised/process_tree.h"
#include "launch/supervised/supervision.h"

namespace cudadiag::launch {
namespace {

using base::FileDescriptor;
using supervision::Packet;
using Clock = std::chrono::steady_clock;

// The time limit for a supervisor's start is long, because a supervisor that gets no CPU time sends nothing for a
// while.
constexpr int kStartMilliseconds = 60'000;
constexpr auto kOrphansPatience = std::chrono::seconds(10);

std::vector<std::string> supervisor_command(const std::string& path, const std::vector<std::string>& command,
                                            const SupervisedOptions& options, int socket) {
  std::vector<std::string> words = {"/proc/self/exe", supervision::kCommand,
                                    supervision::kSocketWord + std::to_string(socket)};
  if (options.arena >= 0) words.push_back(supervision::kArenaWord + std::to_string(options.arena));
  if (!options.remove.empty()) words.push_back(supervision::kRemoveWord + options.remove);
  if (options.isolation) {
    words.emplace_back(supervision::kIsolateWord);
    const auto isolation = isolation_words(*options.isolation);
    words.insert(words.end(), isolation.begin(), isolation.end());
  }
  words.emplace_back("--");
  words.push_back(path);
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

// Returns true if the process has no_new_privs set and a system call filter.
bool is_filtered(pid_t process) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  bool gains_none = false, judged = false;
  for (std::string line; std::getline(status, line);) {
    gains_none |= line == "NoNewPrivs:\t1";
    judged |= line == "Seccomp:\t2";
  }
  return gains_none && judged;
}

}  // namespace

std::variant<Supervised, SpawnFailure> Supervised::spawn(const std::vector<std::string>& command,
                                                         const std::vector<std::string>& environment,
                                                         const SupervisedOptions& options) {
  const CommandPath found = find_command(command.front(), options.directory);
  if (found.path.empty()) return spawn_failure(command.front(), found.error);
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return spawn_failure(command.front(), errno, "cannot create a socket to its supervisor");
  }
  base::FileDescriptor ours(ends[0]), theirs(ends[1]);
  // If the supervisor is killed, this process adopts the supervisor's children.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  SpawnOptions how;
  how.apart = how.outlives = true;
  how.input = options.input;
  how.output = options.output;
  how.directory = options.directory;
  how.inherited = {theirs.get()};
  if (options.arena >= 0) how.inherited.push_back(options.arena);
  auto started = start_process(supervisor_command(found.path, command, options, theirs.get()), environment, how);
  if (auto* failure = std::get_if<SpawnFailure>(&started)) return std::move(*failure);
  theirs = base::FileDescriptor();
  Supervised supervised(std::get<pid_t>(started), std::move(ours), options);
  while (!supervised.started_ && !supervised.failure_ && !supervised.closed_) {
    pollfd source{supervised.socket_.get(), POLLIN, 0};
    if (::poll(&source, 1, kStartMilliseconds) == 0) break;
    supervised.hear();
  }
  if (supervised.started_) return supervised;
  ::kill(supervised.supervisor_, SIGKILL);
  ::waitpid(supervised.supervisor_, nullptr, 0);
  supervised.reaped_ = true;
  supervised.end_orphans();
  if (!supervised.failure_) return spawn_failure(command.front(), ECHILD, "its supervisor ended");
  SpawnFailure failure = std::move(*supervised.failure_);
  if (failure.failure.what.empty()) return spawn_failure(command.front(), failure.exit_status);
  return spawn_failure(command.front(), failure.exit_status, failure.failure.what);
}

void Supervised::hear() {
  while (!closed_) {
    const auto packet = supervision::receive(socket_.get(), closed_);
    if (!packet) return;
    switch (packet->kind) {
      case Packet::Kind::started:
        started_ = true;
        target_ = packet->number;
        break;
      case Packet::Kind::failed:
        failure_ = SpawnFailure{packet->number, {packet->text, ""}};
        break;
      case Packet::Kind::kept:
        kept_from_.push_back({static_cast<session::Deed>(packet->number), packet->text});
        break;
      case Packet::Kind::stopped:
        asked_terminal_ = true;
        break;
      case Packet::Kind::ended:
        ended_ = true;
        end_ = end_of(packet->number);
        break;
      case Packet::Kind::left:
        left_.push_back(packet->number);
        break;
      case Packet::Kind::over:
        over_ = true;
        break;
      default:
        break;
    }
  }
}

bool Supervised::reap() {
  if (reaped_) return true;
  hear();
  const bool any_left = reap_children();
  reaped_ = end_of_child(supervisor_) != nullptr || !any_left;
  if (!reaped_) {
    watch_tree();
    return false;
  }
  hear();
  if (!over_) end_orphans();
  return true;
}

void Supervised::watch_tree() {
  const auto now = Clock::now();
  if (now < watch_again_) return;
  tree_.clear();
  for (const pid_t process : descendants_of(supervisor_)) tree_[process] = base::state_of(process).start;
  // Limits the cost of this search to a twentieth of this process's time, even if there are very many processes.
  constexpr int kShare = 20;
  watch_again_ = Clock::now() + (Clock::now() - now) * kShare;
}

// Returns true if the process belongs to the rerun: it was seen in the rerun's tree, is in the target's process group,
// or carries the rerun's mark. An orphan that this process adopted also belongs to the rerun if it has the system call
// filter and this process has none.
bool Supervised::is_member(pid_t process) const {
  const base::ProcessState state = base::state_of(process);
  if (state.ended) return false;
  const auto seen = tree_.find(process);
  if (seen != tree_.end() && seen->second == state.start) return true;
  if (target_ > 0 && ::getpgid(process) == target_) return true;
  const pid_t own = ::getpid();
  return is_marked(process, mark_) ||
         (isolated_ && process != own && is_filtered(process) && !is_filtered(own) && descends_from(process, own));
}

// Kills the rerun's processes. Called if the supervisor was killed.
void Supervised::end_orphans() {
  const auto patience = Clock::now() + kOrphansPatience;
  while (true) {
    std::set<pid_t> members;
    for (const pid_t process : base::all_processes()) {
      if (!is_member(process)) continue;
      members.insert(process);
      const auto below = descendants_of(process);
      members.insert(below.begin(), below.end());
    }
    left_.assign(members.begin(), members.end());
    if (members.empty() || Clock::now() > patience) return;
    for (const pid_t process : members) {
      const std::uint64_t start = base::state_of(process).start;
      signal_process(process, SIGKILL, [&](pid_t which) { return base::state_of(which).start == start; });
    }
    reap_children();
    ::poll(nullptr, 0, 20);
  }
}

void Supervised::end(std::chrono::milliseconds grace) {
  supervision::send(socket_.get(), {Packet::Kind::end, static_cast<std::int32_t>(grace.count()), ""});
}

void Supervised::halt() { supervision::send(socket_.get(), {Packet::Kind::halt, 0, ""}); }

void Supervised::resume() { supervision::send(socket_.get(), {Packet::Kind::resume, 0, ""}); }

std::uint64_t Supervised::bytes_written() const {
  std::uint64_t written = 0;
  for (const auto& [process, start] : tree_) {
    std::ifstream counters("/proc/" + std::to_string(process) + "/io");
    for (std::string name, value; counters >> name >> value;) {
      if (name == "wchar:") written += std::strtoull(value.c_str(), nullptr, 10);
    }
  }
  return written;
}

}  // namespace cudadiag::launch
