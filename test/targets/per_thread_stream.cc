// per_thread_stream [THREADS]: compiled for per-thread default streams, where handle 0 means the thread's own stream.
// Before the failure, THREADS other threads run (by default 1), each after the previous one has ended.
// Plan: fault kernel=scale nth=2 code=700
#define CUDA_API_PER_THREAD_DEFAULT_STREAM
#include <cstdlib>
#include <thread>

#include "driver.h"

static void healthy(const Driver& driver) {
  CHECK(cuCtxSetCurrent(driver.context));
  CUfunction fill = driver.kernel("fill");
  for (int i = 0; i < 5; ++i) CHECK(LAUNCH(fill, nullptr));
  CHECK(cuStreamSynchronize(nullptr));
}

int main(int count, char** arguments) {
  Driver driver;
  const int threads = count > 1 ? std::atoi(arguments[1]) : 1;
  for (int i = 0; i < threads; ++i) std::thread(healthy, std::cref(driver)).join();
  CUfunction scale = driver.kernel("scale");
  LAUNCH(scale, nullptr);
  LAUNCH(scale, nullptr);               // TRUE LINE
  CHECK(cuStreamSynchronize(nullptr));  // REPORTED LINE
  std::puts("done");
}
