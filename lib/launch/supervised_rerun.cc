#include "launch/supervised_rerun.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include "launch/isolation/syscall_judge.h"
#include "launch/process_tree.h"
#include "launch/signals.h"

namespace cudadiag::launch {
namespace {

using base::FileDescriptor;
using supervision::Packet;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// How long to wait for killed processes while none of them exits.
constexpr milliseconds kOrphansPatience{3000}, kForced{700};
// How long a supervisor that ends a rerun has to clean up, and how long to exit after its last packet.
constexpr milliseconds kCleaning{1000}, kExiting{500};

std::vector<std::string> supervisor_command(const std::string& path, const std::vector<std::string>& command,
                                            const SupervisedOptions& options, int socket) {
  std::vector<std::string> words = {"/proc/self/exe", supervision::kCommand,
                                    supervision::kSocketWord + std::to_string(socket)};
  if (options.arena >= 0) words.push_back(supervision::kArenaWord + std::to_string(options.arena));
  if (options.remove >= 0) words.push_back(supervision::kRemoveWord + std::to_string(options.remove));
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
  for (const int descriptor : {options.arena, options.remove}) {
    if (descriptor >= 0) how.inherited.push_back(descriptor);
  }
  const auto started_at = Clock::now();
  auto started = start_process(supervisor_command(found.path, command, options, theirs.get()), environment, how);
  if (auto* failure = std::get_if<SpawnFailure>(&started)) return std::move(*failure);
  theirs = base::FileDescriptor();
  Supervised supervised(std::get<pid_t>(started), std::move(ours), options);
  while (!supervised.started_ && !supervised.failure_ && !supervised.closed_) {
    constexpr int kLook = 100;
    pollfd source{supervised.socket_.get(), POLLIN, 0};
    ::poll(&source, 1, kLook);
    supervised.hear();
    const auto waited = Clock::now() - started_at;
    if (waited > options.patience || (waited > kCleaning && asked_to_end())) break;
  }
  if (supervised.started_) return supervised;
  supervised.take_over();
  if (!supervised.failure_) {
    const bool ended = supervised.closed_;
    return spawn_failure(command.front(), ended ? ECHILD : ETIMEDOUT,
                         ended ? "its supervisor ended" : "its supervisor could not start it");
  }
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
        // Shells open the terminal only to find out whether there is one.
        if (packet->text == "/dev/tty") break;
        kept_from_.push_back({static_cast<session::Deed>(packet->number), packet->text});
        break;
      case Packet::Kind::seen:
        not_hidden_.emplace_back(packet->text);
        break;
      case Packet::Kind::made: {
        FileIdentity identity{};
        if (packet->text.size() != sizeof identity) break;
        std::memcpy(identity.data(), packet->text.data(), sizeof identity);
        made_.insert(identity);
        break;
      }
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
        over_at_ = Clock::now();
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
  if (reaped_) {
    hear();
    if (!over_at_) end_orphans(kOrphansPatience);
    return true;
  }
  watch_tree();
  const auto now = Clock::now();
  // A thread of the supervisor may be stuck in a call to a file server. Nothing can end it then.
  if (over_at_ && now > *over_at_ + kExiting) take_over();
  if (give_up_at_ && now > *give_up_at_) {
    if (asked_to_give_up_) {
      take_over();
    } else {
      asked_to_give_up_ = true;
      give_up_at_ = now + kCleaning;
      supervision::send_at_once(socket_.get(), {Packet::Kind::give_up, 0, ""});
      signal_process(supervisor_, SIGCONT, [](pid_t) { return true; });
    }
  }
  return reaped_;
}

void Supervised::watch_tree() {
  const auto now = Clock::now();
  if (now < watch_again_) return;
  tree_.clear();
  for (const pid_t process : descendants_of(supervisor_)) tree_[process] = base::state_of(process).start;
  // Waits longer as long as more and more of the killed processes exit. There may be thousands.
  if (kill_at_ && now > *kill_at_ && !asked_to_give_up_ && tree_.size() < fewest_) {
    if (fewest_ != SIZE_MAX) give_up_at_ = std::max(*give_up_at_, now + kCleaning);
    fewest_ = tree_.size();
  }
  // Limits the cost of this search to a twentieth of this process's time, even if there are very many processes.
  constexpr int kShare = 20;
  watch_again_ = Clock::now() + (Clock::now() - now) * kShare;
}

// Returns true if the process belongs to the rerun: it was seen in the rerun's tree, is in the target's process group,
// or carries the rerun's mark. An orphan that this process adopted also belongs to the rerun if it is younger than the
// supervisor and has a system call filter, but this process has none.
bool Supervised::is_member(pid_t process) const {
  const base::ProcessState state = base::state_of(process);
  if (state.ended) return false;
  const auto seen = tree_.find(process);
  if (seen != tree_.end() && seen->second == state.start) return true;
  if (target_ > 0 && ::getpgid(process) == target_) return true;
  const pid_t own = ::getpid();
  return is_marked(process, mark_) || (isolated_ && process != own && state.start >= since_ && is_filtered(process) &&
                                       !is_filtered(own) && descends_from(process, own));
}

// Kills the rerun's processes and the supervisor. Called if the supervisor does not end the rerun.
void Supervised::take_over() {
  watch_again_ = {};
  watch_tree();
  const auto is_seen = [&](pid_t process) { return tree_.at(process) == base::state_of(process).start; };
  for (const auto& [process, start] : tree_) signal_process(process, SIGKILL, is_seen);
  ::kill(supervisor_, SIGKILL);
  end_orphans(kForced);
  const bool listed = std::ranges::find(left_, supervisor_) != left_.end();
  // After its last packet, the supervisor only frees the memory of what the rerun wrote, which may take seconds.
  const bool is_left = reap_children() && end_of_child(supervisor_) == nullptr && !listed;
  if (is_left && !over_at_) left_.push_back(supervisor_);
  reaped_ = true;
}

// Kills the rerun's processes, and gives up when none of them has exited for `patience`. Then removes the files that
// the rerun created in shared memory.
void Supervised::end_orphans(std::chrono::milliseconds patience) {
  std::optional<Time> limit;
  // Looks again when it finds none: a process that was created after the list was read may outlive its parent.
  for (int empty = 0; empty < 2;) {
    const std::vector<pid_t> all = base::all_processes();
    std::set<pid_t> members;
    std::copy_if(all.begin(), all.end(), std::inserter(members, members.end()),
                 [&](pid_t each) { return is_member(each); });
    for (const pid_t process : all) {
      pid_t above = process;
      while (above > 1 && !members.contains(above)) above = parent_of(above);
      if (above > 1) members.insert(process);
    }
    empty = members.empty() ? empty + 1 : 0;
    // On a busy machine, reading the list can take longer than `patience`. Kills before it gives up.
    if (!limit || members.size() < left_.size()) limit = Clock::now() + patience;
    left_.assign(members.begin(), members.end());
    for (const pid_t process : members) {
      const std::uint64_t start = base::state_of(process).start;
      signal_process(process, SIGKILL, [&](pid_t which) { return base::state_of(which).start == start; });
    }
    if (Clock::now() > *limit) break;
    reap_children();
    ::poll(nullptr, 0, 20);
  }
  hear();
  SyscallJudge::remove_from_shared_memory(made_);
}

void Supervised::end(std::chrono::milliseconds grace, std::chrono::milliseconds patience) {
  if (asked_to_give_up_) return;
  const auto kill_at = Clock::now() + grace;
  kill_at_ = std::min(kill_at_.value_or(kill_at), kill_at);
  give_up_at_ = std::min(give_up_at_.value_or(kill_at + patience), kill_at + patience);
  supervision::send_at_once(socket_.get(), {Packet::Kind::end, static_cast<std::int32_t>(grace.count()), ""});
}

void Supervised::halt() { supervision::send_at_once(socket_.get(), {Packet::Kind::halt, 0, ""}); }

void Supervised::resume() { supervision::send_at_once(socket_.get(), {Packet::Kind::resume, 0, ""}); }

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
