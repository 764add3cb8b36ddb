#include "supervise/end_target.h"

#include <signal.h>

namespace cudadiag::supervise {
namespace {

using Clock = std::chrono::steady_clock;

// A process that is stuck in the GPU driver does not die until the driver returns, so the wait has a limit.
constexpr auto kUnkillable = std::chrono::seconds(10);

}  // namespace

bool end_target(launch::Target& target, launch::SignalRelay& relay, std::chrono::milliseconds grace) {
  // Waits for all processes, because children of the target may outlive it.
  const auto anybody_after = [&](int signal) { return target.signal_all(signal) || !target.reap(); };
  const auto pause = [&] {
    relay.wait(50);
    relay.take_signals();
    target.reap();
  };
  target.signal_all(SIGTERM);
  constexpr int kNone = 0;
  for (const auto patience = Clock::now() + grace; anybody_after(kNone) && Clock::now() < patience;) pause();
  for (const auto limit = Clock::now() + kUnkillable; anybody_after(SIGKILL) && Clock::now() < limit;) pause();
  return !anybody_after(kNone);
}

}  // namespace cudadiag::supervise
