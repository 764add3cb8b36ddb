// Resets the device between launches. The new context has the same address, but everything registered in the first
// context is gone.
// Plan: fault kernel=scale nth=4 code=700
#include "driver.h"

int main() {
  Driver before;
  CUfunction scale = before.kernel("scale");
  for (int i = 0; i < 2; ++i) LAUNCH(scale, nullptr);
  CHECK(cuCtxSynchronize());
  CHECK(cuDevicePrimaryCtxReset(0));
  Driver after;
  scale = after.kernel("scale");
  LAUNCH(scale, nullptr);
  LAUNCH(scale, nullptr);     // TRUE LINE
  CHECK(cuCtxSynchronize());  // REPORTED LINE
  std::puts("done");
}
