// One thread issues the failing launch, and another thread gets the error.
// Plan: fault kernel=scale nth=3 code=710
#include <thread>

#include "driver.h"

static void issue(const Driver& driver, CUstream stream) {
  CHECK(cuCtxSetCurrent(driver.context));
  CUfunction scale = driver.kernel("scale");
  LAUNCH(scale, stream);
  LAUNCH(scale, stream);
  LAUNCH(scale, stream);  // TRUE LINE
  LAUNCH(scale, stream);
}

int main() {
  Driver driver;
  CUstream stream = driver.stream();
  std::thread(issue, std::cref(driver), stream).join();
  CHECK(cuStreamSynchronize(stream));  // REPORTED LINE
  std::puts("done");
}
