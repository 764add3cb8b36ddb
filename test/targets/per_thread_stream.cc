// Compiled for per-thread default streams: handle 0 means the thread's own stream.
// Plan: fault kernel=scale nth=2 code=700
#define CUDA_API_PER_THREAD_DEFAULT_STREAM
#include <thread>

#include "driver.h"

static void healthy(const Driver& driver) {
  CHECK(cuCtxSetCurrent(driver.context));
  CUfunction fill = driver.kernel("fill");
  for (int i = 0; i < 5; ++i) CHECK(LAUNCH(fill, nullptr));
  CHECK(cuStreamSynchronize(nullptr));
}

int main() {
  Driver driver;
  std::thread(healthy, std::cref(driver)).join();
  CUfunction scale = driver.kernel("scale");
  LAUNCH(scale, nullptr);
  LAUNCH(scale, nullptr);               // TRUE LINE
  CHECK(cuStreamSynchronize(nullptr));  // REPORTED LINE
  std::puts("done");
}
