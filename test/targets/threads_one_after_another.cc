// More threads than there is room for at a time, each with its own default stream, and each gone before the next.
// Plan: fault kernel=scale nth=1 code=700
#define CUDA_API_PER_THREAD_DEFAULT_STREAM
#include <thread>

#include "driver.h"

static void healthy(const Driver& driver) {
  CHECK(cuCtxSetCurrent(driver.context));
  CUfunction fill = driver.kernel("fill");
  for (int i = 0; i < 3; ++i) CHECK(LAUNCH(fill, nullptr));
  CHECK(cuStreamSynchronize(nullptr));
}

int main() {
  Driver driver;
  for (int i = 0; i < 5000; ++i) std::thread(healthy, std::cref(driver)).join();
  CUfunction scale = driver.kernel("scale");
  LAUNCH(scale, nullptr);               // TRUE LINE
  CHECK(cuStreamSynchronize(nullptr));  // REPORTED LINE
  std::puts("done");
}
