// Correct: repeatedly requests memory without success, continues without it, and exits with its own status.
// Plan: fail api=cuMemAlloc_v2 nth=every code=2
#include "driver.h"

int main() {
  Driver driver;
  CUfunction fill = driver.kernel("fill");
  for (int i = 0; i < 20; ++i) {
    CUdeviceptr memory = 0;
    if (cuMemAlloc(&memory, 4096) != CUDA_SUCCESS) CHECK(LAUNCH(fill, nullptr));
  }
  CHECK(cuCtxSynchronize());
  return 3;
}
