#include "launch/watcher.h"

#include <utility>

#include "launch/optional_thread.h"

namespace cudadiag::launch {
namespace {

// Checks at this interval even without a wake-up. The target can write to the arena's header and so suppress a wake-up.
constexpr int kPatienceMilliseconds = 500;

}  // namespace

Watcher::Watcher(Arena& arena, SignalRelay& relay) : arena_(arena), seen_(arena.events()) {
  thread_ = optional_thread([this, &relay] {
    while (!stopping_.load(std::memory_order_acquire)) {
      const std::uint32_t now = arena_.wait_for_event(seen_, kPatienceMilliseconds);
      if (now == seen_ || stopping_.load(std::memory_order_acquire)) continue;
      seen_ = now;
      frozen_.store(true, std::memory_order_release);
      relay.wake();
    }
  });
}

Watcher::~Watcher() {
  stopping_.store(true, std::memory_order_release);
  arena_.wake();
  if (thread_.joinable()) thread_.join();
}

bool Watcher::take_freeze() {
  if (thread_.joinable()) return frozen_.exchange(false, std::memory_order_acq_rel);
  const std::uint32_t now = arena_.events();
  return std::exchange(seen_, now) != now;
}

}  // namespace cudadiag::launch
