// The call that ends a capture is the first to report that the capture is broken.
// Plan: fail api=cuStreamEndCapture code=901
#include "driver.h"

int main() {
  Driver driver;
  CUstream stream = driver.stream();
  CUgraph graph = nullptr;
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));  // CAPTURE LINE
  CHECK(LAUNCH(driver.kernel("fill"), stream));
  CHECK(cuStreamEndCapture(stream, &graph));  // TRUE LINE
  std::puts("done");
}
