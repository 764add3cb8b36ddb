// Several threads use the same new streams for the first time at the same moment, many times over. The last operation
// fails.
// Plan: fault kernel=scale nth=1 code=700
#include <atomic>
#include <thread>
#include <vector>

#include "driver.h"

constexpr int kThreads = 4, kStreams = 400;

int main() {
  Driver driver;
  CUfunction fill = driver.kernel("fill");
  std::vector<CUstream> streams;
  for (int i = 0; i < kStreams; ++i) streams.push_back(driver.stream());
  std::atomic<int> arrived = 0;
  const auto work = [&] {
    CHECK(cuCtxSetCurrent(driver.context));
    for (int i = 0; i < kStreams; ++i) {
      ++arrived;
      while (arrived < kThreads * (i + 1)) std::this_thread::yield();
      LAUNCH(fill, streams[i]);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  CHECK(cuCtxSynchronize());
  LAUNCH(driver.kernel("scale"), streams[0]);  // TRUE LINE
  CHECK(cuCtxSynchronize());                   // REPORTED LINE
}
