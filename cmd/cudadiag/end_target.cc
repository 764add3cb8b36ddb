#include "end_target.h"

#include <signal.h>

namespace cudadiag::command {
namespace {

using Clock = std::chrono::steady_clock;

// A process that is stuck inside the GPU's driver dies when the driver lets it: that is not waited for.
constexpr auto kUnkillable = std::chrono::seconds(10);

}  // namespace

bool end_target(launch::Target& target, launch::SignalRelay& relay, std::chrono::milliseconds grace) {
  target.signal_all(SIGTERM);
  const auto patience = Clock::now() + grace;
  while (!target.reap() && Clock::now() < patience) {
    relay.wait(50);
    relay.take_signals();
  }
  const auto limit = Clock::now() + kUnkillable;
  while (!target.reap() && Clock::now() < limit) {
    target.signal_all(SIGKILL);
    relay.wait(50);
    relay.take_signals();
  }
  return target.reap();
}

}  // namespace cudadiag::command
