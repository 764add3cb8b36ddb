// Creates more contexts, one after another, than the recorder can track. Each is destroyed by a reset while it is
// current. The kernel in the last context fails.
// Plan: fault kernel=scale nth=401 code=700
#include "driver.h"

int main() {
  for (int i = 0; i < 100; ++i) {
    Driver driver;
    CUfunction scale = driver.kernel("scale");
    CUstream stream = driver.stream();
    for (int k = 0; k < 4; ++k) LAUNCH(scale, stream);
    CHECK(cuCtxSynchronize());
    CHECK(cuDevicePrimaryCtxReset(0));
  }
  Driver last;
  CUfunction scale = last.kernel("scale");
  LAUNCH(scale, nullptr);  // TRUE LINE
  LAUNCH(scale, nullptr);
  CHECK(cuCtxSynchronize());  // REPORTED LINE
  std::puts("done");
}
