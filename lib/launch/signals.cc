#include "launch/signals.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/processes.h"
#include "launch/spawn.h"

namespace cudadiag::launch {
namespace {

// The terminal sends INT, QUIT and similar signals to the whole group, so the target already has them. A signal that
// was sent to this process alone must be relayed. Its si_code is SI_USER or similar, not SI_KERNEL. When a terminal
// hangs up, the kernel sends HUP only to the session leader.
constexpr std::array kRelayed = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

bool took_over = false;
bool leads_session = false;
volatile sig_atomic_t interrupted_by = 0;  // a signal number
volatile sig_atomic_t interruptions = 0;
std::array<int, 2> wake_pipe = {-1, -1};
std::array<struct sigaction, kRelayed.size() + 1> former;
sigset_t former_blocked;

// Writes the signal to the pipe. Signal number 0 only wakes the reader.
void hand_over(const ReceivedSignal& signal) {
  const int saved = errno;
  // Ignores the result. A full pipe wakes its reader anyway, and a write of this size is atomic.
  [[maybe_unused]] const ssize_t written = ::write(wake_pipe[1], &signal, sizeof signal);
  errno = saved;
}

extern "C" void on_signal(int signal, siginfo_t* info, void*) {
  if (signal == SIGINT || signal == SIGQUIT || signal == SIGTERM || signal == SIGHUP) {
    interrupted_by = signal;
    interruptions = interruptions + 1;
  }
  const bool group_has_it = info->si_code == SI_KERNEL && !(signal == SIGHUP && leads_session);
  const int number = signal != SIGCHLD && !group_has_it ? signal : 0;
  hand_over({number, info->si_code <= 0 ? info->si_pid : 0});
}

void take_over(int signal, struct sigaction& before) {
  keep_for_targets(signal);
  ::sigaction(signal, nullptr, &before);
  if (signal != SIGCHLD && (before.sa_flags & SA_SIGINFO) == 0 && before.sa_handler == SIG_IGN) return;
  struct sigaction action {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_NOCLDSTOP;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(signal, &action, nullptr);
}

}  // namespace

SignalRelay::SignalRelay() {
  interrupted_by = 0;
  interruptions = 0;
  if (::pipe2(wake_pipe.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
    // Leaves the signals' actions unchanged. Without a pipe, this process could not notice a signal.
    wake_pipe = {-1, -1};
    took_over = false;
    return;
  }
  took_over = true;
  leads_session = ::getsid(0) == ::getpid();
  keep_blocked_for_targets();
  sigset_t taken;
  ::sigemptyset(&taken);
  for (std::size_t i = 0; i < kRelayed.size(); ++i) take_over(kRelayed[i], former[i]);
  take_over(SIGCHLD, former.back());
  for (const int signal : kRelayed) ::sigaddset(&taken, signal);
  ::sigaddset(&taken, SIGCHLD);
  ::pthread_sigmask(SIG_UNBLOCK, &taken, &former_blocked);
}

SignalRelay::~SignalRelay() {
  if (!took_over) return;
  ::pthread_sigmask(SIG_SETMASK, &former_blocked, nullptr);
  for (std::size_t i = 0; i < kRelayed.size(); ++i) ::sigaction(kRelayed[i], &former[i], nullptr);
  ::sigaction(SIGCHLD, &former.back(), nullptr);
  for (int& end : wake_pipe) {
    if (end >= 0) ::close(end);
    end = -1;
  }
}

void SignalRelay::wait(int milliseconds) {
  pollfd source{wake_pipe[0], POLLIN, 0};
  ::poll(&source, 1, milliseconds);
}

void SignalRelay::wake() { hand_over({}); }

int ending_signal() { return interrupted_by; }

int ending_signals() { return interruptions; }

std::vector<ReceivedSignal> SignalRelay::take_signals() {
  std::vector<ReceivedSignal> signals;
  ReceivedSignal signal{};
  while (::read(wake_pipe[0], &signal, sizeof signal) == sizeof signal) {
    if (signal.number != 0) signals.push_back(signal);
  }
  return signals;
}

namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kCheckInterval{250};
// After the second request, work that makes progress has this long to finish, and work that makes none has this long.
constexpr milliseconds kFinishing{3000}, kStuckAtEnd{500};

// Measures for how long a thread has used no CPU time.
class Idleness {
 public:
  explicit Idleness(clockid_t thread) : thread_(thread) {}

  milliseconds measure() {
    timespec used{};
    ::clock_gettime(thread_, &used);
    const auto now = Clock::now();
    const bool moved = used.tv_sec != used_.tv_sec || used.tv_nsec != used_.tv_nsec;
    // If this thread looks late, the whole process was stopped, or the machine was suspended.
    idle_ = moved ? milliseconds(0)
                  : idle_ + std::min(std::chrono::duration_cast<milliseconds>(now - looked_), 2 * kCheckInterval);
    used_ = used;
    looked_ = now;
    return idle_;
  }

 private:
  clockid_t thread_;
  timespec used_{};
  milliseconds idle_{0};
  Clock::time_point looked_ = Clock::now();
};

sigset_t all_requests() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGQUIT, SIGHUP}) ::sigaddset(&set, signal);
  return set;
}

// Kills the process through the signal's default action. Takes no lock, because the blocked thread may hold it.
void end_by(int signal) {
  sigset_t one;
  ::sigemptyset(&one);
  ::sigaddset(&one, signal);
  ::signal(signal, SIG_DFL);
  ::pthread_kill(::pthread_self(), signal);
  ::pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
  // The init process of a container cannot kill itself with a signal.
  ::_exit(128 + signal);
}

bool is_ignored(int signal) {
  struct sigaction now {};
  ::sigaction(signal, nullptr, &now);
  return (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == SIG_IGN;
}

// Calls the handler of a signal that is not ignored. Unblocking the signal and raising it again would leave a gap in
// which another signal could arrive uncounted.
void hand_on(const signalfd_siginfo& request) {
  const int number = static_cast<int>(request.ssi_signo);
  struct sigaction now {};
  ::sigaction(number, nullptr, &now);
  siginfo_t info{};
  info.si_signo = number;
  info.si_code = request.ssi_code;
  info.si_pid = static_cast<pid_t>(request.ssi_pid);
  if ((now.sa_flags & SA_SIGINFO) != 0) return now.sa_sigaction(number, &info, nullptr);
  if (now.sa_handler == SIG_DFL) return end_by(number);
  now.sa_handler(number);
}

}  // namespace

EndableWork::EndableWork(milliseconds patience) { start(patience); }

EndableWork::EndableWork(milliseconds patience, GiveUp give_up) : give_up_(std::move(give_up)) {
  ::pthread_getcpuclockid(::pthread_self(), &worker_);
  start(patience);
}

void EndableWork::start(milliseconds patience) {
  const sigset_t requests = all_requests();
  requests_ = base::FileDescriptor(::signalfd(-1, &requests, SFD_CLOEXEC | SFD_NONBLOCK));
  done_ = base::FileDescriptor(::eventfd(0, EFD_CLOEXEC));
  if (!requests_.valid() || !done_.valid()) return;
  // Blocks the signals before creating the thread, because the thread must inherit the mask.
  ::pthread_sigmask(SIG_BLOCK, &requests, &before_);
  taker_ = base::optional_thread([this, patience] { take_requests(patience); });
  if (!taker_.joinable()) ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

EndableWork::~EndableWork() {
  if (!taker_.joinable()) return;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(done_.get(), &one, sizeof one);
  taker_.join();
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void EndableWork::take_requests(milliseconds patience) const {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);  // the work's own thread handles the other signals
  std::optional<Clock::time_point> first, second;
  Idleness idleness(worker_);
  while (true) {
    std::array<pollfd, 2> sources = {{{requests_.get(), POLLIN, 0}, {done_.get(), POLLIN, 0}}};
    if (::poll(sources.data(), sources.size(), give_up_ ? static_cast<int>(kCheckInterval.count()) : -1) < 0) continue;
    if (sources[1].revents != 0) return;
    if (give_up_) {
      const milliseconds idle = idleness.measure();
      give_up_(idle, second && (idle >= kStuckAtEnd || Clock::now() - *second >= kFinishing));
    }
    signalfd_siginfo request{};
    if (::read(requests_.get(), &request, sizeof request) != sizeof request) continue;
    if (is_ignored(static_cast<int>(request.ssi_signo))) continue;
    if (first && Clock::now() - *first >= patience) {
      if (!give_up_) end_by(static_cast<int>(request.ssi_signo));
      if (!second) second = Clock::now();
    }
    if (!first) first = Clock::now();
    hand_on(request);
  }
}

}  // namespace cudadiag::launch
