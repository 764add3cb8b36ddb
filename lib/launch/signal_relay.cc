// Passes the signals that cudadiag receives on to the command that it runs.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>

#include "launch/endable_work.h"
#include "launch/process.h"

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

}  // namespace cudadiag::launch
