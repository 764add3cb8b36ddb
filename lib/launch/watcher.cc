#include "launch/watcher.h"

namespace cudadiag::launch {
namespace {

// A target can write to the arena's header, and so make a wake-up go missing: never wait for one alone.
constexpr int kPatienceMilliseconds = 500;

}  // namespace

Watcher::Watcher(Arena& arena, SignalRelay& relay) : arena_(arena) {
  thread_ = std::thread([this, &relay, seen = arena_.events()]() mutable {
    while (!stopping_.load(std::memory_order_acquire)) {
      const std::uint32_t now = arena_.wait_for_event(seen, kPatienceMilliseconds);
      if (now == seen || stopping_.load(std::memory_order_acquire)) continue;
      seen = now;
      frozen_.store(true, std::memory_order_release);
      relay.wake();
    }
  });
}

Watcher::~Watcher() {
  stopping_.store(true, std::memory_order_release);
  arena_.wake();
  thread_.join();
}

}  // namespace cudadiag::launch
