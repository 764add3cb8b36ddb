#include "sessions/parallel_work.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <system_error>
#include <thread>
#include <vector>

namespace cudadiag::command {
namespace {

constexpr std::size_t kMostThreads = 4;

}  // namespace

void in_parallel(std::size_t count, const std::function<bool(std::size_t)>& work) {
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> stopping = false;
  const auto take = [&] {
    try {
      for (std::size_t i = 0; !stopping && (i = next++) < count;) {
        if (!work(i)) stopping = true;
      }
    } catch (...) {
      stopping = true;
      throw;
    }
  };
  // If `take` throws on this thread, the destructors of these futures wait for the other threads.
  std::vector<std::future<void>> others;
  const std::size_t threads = std::min({kMostThreads, count, std::size_t{std::thread::hardware_concurrency()}});
  try {
    while (others.size() + 1 < threads) others.push_back(std::async(std::launch::async, take));
  } catch (const std::system_error&) {
    // The process limit allows no more threads. The threads that were started do all the work.
  }
  take();
  for (std::future<void>& other : others) other.get();
}

}  // namespace cudadiag::command
