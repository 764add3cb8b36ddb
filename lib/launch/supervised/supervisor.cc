#include "launch/supervised/supervisor.h"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_descriptor.h"
#include "launch/isolation/call_judge.h"
#include "launch/isolation/confined_start.h"
#include "launch/isolation/isolation.h"
#include "launch/isolation/private_network.h"
#include "launch/supervised/process_tree.h"
#include "launch/supervised/supervision.h"
#include "wire/names/environment.h"

namespace cudadiag::launch {
namespace {

using supervision::Packet;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// How long to wait for killed processes. A process that is stuck in the GPU driver dies only when the driver returns.
constexpr auto kUnkillable = std::chrono::seconds(10);
constexpr auto kLook = milliseconds(20);
constexpr std::size_t kMostKept = 64;  // the maximum number of distinct refusals to report for a rerun

struct Arguments {
  int socket = -1;
  int arena = -1;
  std::string remove;
  std::optional<Isolation> isolation;
  std::string path;
  std::vector<std::string> command;
};

Arguments read_arguments(int argc, char** argv) {
  Arguments arguments;
  std::vector<std::string> words;
  bool isolate = false;
  int next = 2;
  for (; next < argc && std::string_view(argv[next]) != "--"; ++next) {
    const std::string word = argv[next];
    const auto value = [&](std::string_view prefix) { return word.substr(prefix.size()); };
    if (word.starts_with(supervision::kSocketWord))
      arguments.socket = std::atoi(value(supervision::kSocketWord).c_str());
    if (word.starts_with(supervision::kArenaWord)) arguments.arena = std::atoi(value(supervision::kArenaWord).c_str());
    if (word.starts_with(supervision::kRemoveWord)) arguments.remove = value(supervision::kRemoveWord);
    isolate |= word == supervision::kIsolateWord;
    words.push_back(word);
  }
  if (isolate) arguments.isolation = isolation_of(words);
  if (++next < argc) arguments.path = argv[next++];
  for (; next < argc; ++next) arguments.command.emplace_back(argv[next]);
  return arguments;
}

std::vector<std::string> environment_but_arena() {
  std::vector<std::string> result;
  const std::string arena = std::string(wire::environment::kArena) + "=";
  for (char** entry = ::environ; *entry != nullptr; ++entry) {
    if (!std::string_view(*entry).starts_with(arena)) result.emplace_back(*entry);
  }
  return result;
}

// Answers the system calls that are waiting at the filter's listener.
class CallDesk {
 public:
  CallDesk(int listener, const Isolation& isolation, int launcher)
      : listener_(listener), launcher_(launcher), judge_(isolation, ::getpid(), landlock_version()) {}
  ~CallDesk() { judge_.clean_shared_memory(); }
  CallDesk(const CallDesk&) = delete;
  CallDesk& operator=(const CallDesk&) = delete;

  int listener() const { return listener_.get(); }

  // Returns false if no process with this filter is left.
  bool answer() {
    // A union with extra room: a newer kernel may write more bytes than seccomp_notif has here.
    union {
      seccomp_notif call;
      std::array<char, 1024> room{};
    };
    if (::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_RECV, &room) != 0) return errno == EINTR || errno == ENOENT;
    const CallJudge::Verdict verdict = judge_.judge(call.data, static_cast<pid_t>(call.pid));
    // If the process has stopped waiting, its pid may have been reused, and the memory just read may belong to another
    // process.
    const bool waits = ::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_ID_VALID, &call.id) == 0;
    if (waits && verdict.kept) report(*verdict.kept);
    if (!waits || !send(call.id, verdict)) judge_.undo();
    return true;
  }

 private:
  // Returns false if the process did not get the result of a call that the judge executed.
  bool send(std::uint64_t call, const CallJudge::Verdict& verdict) {
    seccomp_notif_resp response{};
    response.id = call;
    response.error = -verdict.error;
    const bool executed = verdict.done || verdict.file >= 0;
    if (verdict.error == 0 && !executed) response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    if (verdict.file >= 0) {
      seccomp_notif_addfd given{};
      given.id = call;
      given.flags = SECCOMP_ADDFD_FLAG_SEND;
      given.srcfd = static_cast<std::uint32_t>(verdict.file);
      given.newfd_flags = verdict.close_on_exec ? O_CLOEXEC : 0;
      if (::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_ADDFD, &given) >= 0) return true;
      // Linux 5.13 cannot answer the call at the same time.
      given.flags = 0;
      const int number = errno == EINVAL ? ::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_ADDFD, &given) : -1;
      response.val = std::max(number, 0);
      response.error = number >= 0 ? 0 : -errno;
    }
    return ::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_SEND, &response) == 0 && (!executed || response.error == 0);
  }

  void report(const session::KeptFrom& kept) {
    if (kept_.size() == kMostKept || std::find(kept_.begin(), kept_.end(), kept) != kept_.end()) return;
    kept_.push_back(kept);
    supervision::send(launcher_, {Packet::Kind::kept, static_cast<std::int32_t>(kept.deed), kept.object});
  }

  base::FileDescriptor listener_;
  int launcher_;
  CallJudge judge_;
  std::vector<session::KeptFrom> kept_;
};

class Supervisor {
 public:
  Supervisor(int launcher, int signals, ConfinedTarget target, std::unique_ptr<CallDesk> desk)
      : launcher_(launcher), signals_(signals), target_(target.process), desk_(std::move(desk)) {}

  void run() {
    while (!is_over()) {
      wait();
      take_ends();
      hear_launcher();
      if (ending_) end_all();
    }
    for (const pid_t process : descendants_of(::getpid())) {
      supervision::send(launcher_, {Packet::Kind::left, process, ""});
    }
  }

 private:
  bool is_over() const { return childless_ || (ending_ && Clock::now() > give_up_); }

  void wait() {
    std::array<pollfd, 3> sources = {{{launcher_, POLLIN, 0}, {signals_, POLLIN, 0}, {-1, POLLIN, 0}}};
    if (launcher_gone_) sources[0].fd = -1;
    if (desk_) sources[2].fd = desk_->listener();
    ::poll(sources.data(), sources.size(), ending_ ? static_cast<int>(kLook.count()) : -1);
    if (sources[1].revents != 0) take_signals();
    if ((sources[2].revents & POLLIN) != 0 && !desk_->answer()) sources[2].revents = POLLHUP;
    // Keeps the object for now, because its destructor removes the files that the rerun created in shared memory.
    if ((sources[2].revents & POLLIN) == 0 && sources[2].revents != 0) kept_desk_ = std::move(desk_);
  }

  void take_signals() {
    signalfd_siginfo signal{};
    while (::read(signals_, &signal, sizeof signal) == sizeof signal) {
      if (signal.ssi_signo != SIGCHLD) begin_end(milliseconds(0));
    }
  }

  // Reaps the target and the orphans that this process adopted.
  void take_ends() {
    int status = 0;
    pid_t process = 0;
    while ((process = ::waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
      if (process != target_) continue;
      if (WIFSTOPPED(status)) {
        const int signal = WSTOPSIG(status);
        if (signal != SIGTTIN && signal != SIGTTOU) continue;
        supervision::send(launcher_, {Packet::Kind::stopped, signal, ""});
      } else {
        supervision::send(launcher_, {Packet::Kind::ended, status, ""});
      }
      // Kills everything that the target started.
      begin_end(milliseconds(0));
    }
    childless_ = process < 0 && errno == ECHILD;
  }

  void hear_launcher() {
    while (!launcher_gone_) {
      const auto packet = supervision::receive(launcher_, launcher_gone_);
      if (launcher_gone_) begin_end(milliseconds(0));
      if (!packet) return;
      if (packet->kind == Packet::Kind::end) begin_end(milliseconds(packet->number));
      if (packet->kind == Packet::Kind::halt) signal_all(SIGSTOP);
      if (packet->kind == Packet::Kind::resume) signal_all(SIGCONT);
    }
  }

  void begin_end(milliseconds grace) {
    const auto kill_at = Clock::now() + grace;
    if (ending_ && kill_at >= kill_at_) return;
    if (!ending_ && grace.count() > 0) {
      signal_all(SIGTERM);
      signal_all(SIGCONT);
    }
    ending_ = true;
    kill_at_ = kill_at;
    give_up_ = kill_at + kUnkillable;
  }

  void end_all() {
    if (Clock::now() >= kill_at_) signal_all(SIGKILL);
  }

  void signal_all(int signal) {
    const pid_t own = ::getpid();
    for (const pid_t process : descendants_of(own)) {
      signal_process(process, signal, [&](pid_t which) { return descends_from(which, own); });
    }
  }

  int launcher_, signals_;
  pid_t target_;
  std::unique_ptr<CallDesk> desk_, kept_desk_;
  bool launcher_gone_ = false;
  bool childless_ = false;
  bool ending_ = false;
  Clock::time_point kill_at_{}, give_up_{};
};

// Blocks SIGCHLD and the signals that ask this process to exit, and returns a signalfd that receives them. A request to
// exit also terminates the rerun.
int take_over_signals(sigset_t& before) {
  sigset_t taken;
  ::sigemptyset(&taken);
  for (const int signal : {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT}) ::sigaddset(&taken, signal);
  ::pthread_sigmask(SIG_BLOCK, &taken, &before);
  return ::signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
}

}  // namespace

int supervise(int argc, char** argv) {
  Arguments arguments = read_arguments(argc, argv);
  if (arguments.socket < 0 || arguments.command.empty()) return 125;
  for (const int number : {arguments.socket, arguments.arena}) {
    if (number >= 0) ::fcntl(number, F_SETFD, FD_CLOEXEC);
  }
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  if (arguments.isolation) arguments.isolation->private_network = enter_private_network();
  ConfinedStart start;
  const base::FileDescriptor signals(take_over_signals(start.blocked));
  start.path = arguments.path;
  start.arguments = arguments.command;
  start.environment = environment_but_arena();
  if (arguments.isolation && arguments.isolation->private_network) name_loopback(start.environment);
  start.isolation = arguments.isolation;
  start.arena = arguments.arena;
  const ConfinedTarget target = start_confined(std::move(start));
  if (target.process < 0) {
    supervision::send(arguments.socket, {Packet::Kind::failed, target.error, target.failed});
  } else {
    supervision::send(arguments.socket, {Packet::Kind::started, target.process, ""});
    std::unique_ptr<CallDesk> desk;
    if (target.listener >= 0) {
      desk = std::make_unique<CallDesk>(target.listener, *arguments.isolation, arguments.socket);
    }
    Supervisor(arguments.socket, signals.get(), target, std::move(desk)).run();
  }
  std::error_code ignored;
  if (!arguments.remove.empty()) std::filesystem::remove_all(arguments.remove, ignored);
  supervision::send(arguments.socket, {Packet::Kind::over, 0, ""});
  // Skips destructors, because the thread that started the target never exits.
  std::_Exit(0);
}

}  // namespace cudadiag::launch
