// The program resets its device because the work on it has failed, as some runtimes do when they clean up at exit.
// Plan: fault kernel=scale nth=2 code=700
#include "driver.h"

int main() {
  Driver driver;
  CUfunction scale = driver.kernel("scale");
  LAUNCH(scale, nullptr);
  LAUNCH(scale, nullptr);                      // TRUE LINE
  const CUresult failed = cuCtxSynchronize();  // REPORTED LINE
  std::printf("failed with %d\n", failed);
  CHECK(cuDevicePrimaryCtxReset(0));
  return failed == CUDA_SUCCESS ? 0 : 1;
}
