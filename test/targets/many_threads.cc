// 64 threads with a stream each; with a plan, one launch of one of them fails.
// Plan: fault kernel=worker_40 nth=50 code=700
#include <string>
#include <thread>
#include <vector>

#include "driver.h"

static void work(const Driver& driver, int number) {
  CHECK(cuCtxSetCurrent(driver.context));
  CUfunction kernel = driver.kernel(("worker_" + std::to_string(number)).c_str());
  CUstream stream = driver.stream();
  for (int i = 0; i < 100; ++i) LAUNCH(kernel, stream);  // TRUE LINE
}

int main() {
  Driver driver;
  std::vector<std::thread> threads;
  for (int i = 0; i < 64; ++i) threads.emplace_back(work, std::cref(driver), i);
  for (std::thread& thread : threads) thread.join();
  CHECK(cuCtxSynchronize());  // REPORTED LINE
  std::puts("done");
}
