// The program ignores the error and continues without the GPU.
// Plan: fault kernel=scale nth=1 code=700
#include "driver.h"

int main() {
  Driver driver;
  CUfunction scale = driver.kernel("scale");
  CUstream stream = driver.stream();
  LAUNCH(scale, stream);                                                                  // TRUE LINE
  if (cuStreamSynchronize(stream) != CUDA_SUCCESS) std::puts("falling back to the CPU");  // REPORTED LINE
  for (int i = 0; i < 3; ++i) LAUNCH(scale, stream);
  std::puts("done");
}
