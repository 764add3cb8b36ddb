// While one stream captures, the program tries to end a capture on a stream that is not capturing. Then a launch on
// that stream fails.
// Plan: fault kernel=scale nth=1 code=700
#include "driver.h"

int main() {
  Driver driver;
  CUstream captured = driver.stream(), other = driver.stream();
  CUfunction fill = driver.kernel("fill");
  CUgraph graph = nullptr;
  CHECK(cuStreamBeginCapture(captured, CU_STREAM_CAPTURE_MODE_RELAXED));
  if (cuStreamEndCapture(other, &graph) != CUDA_SUCCESS) std::puts("not begun");
  for (int i = 0; i < 3; ++i) CHECK(LAUNCH(fill, captured));
  CHECK(cuStreamEndCapture(captured, &graph));
  LAUNCH(driver.kernel("scale"), other);  // TRUE LINE
  CHECK(cuStreamSynchronize(other));      // REPORTED LINE
}
