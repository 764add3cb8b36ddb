// A reset in between: the context comes back at the same address, and what was registered under the first is gone.
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
