// The program waits for a stream that is being captured, and notices the failure when the capture ends.
#include "driver.h"

int main() {
  Driver driver;
  CUstream stream = driver.stream();
  CUfunction fill = driver.kernel("fill");
  CUgraph graph = nullptr;
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));  // CAPTURE LINE
  CHECK(LAUNCH(fill, stream));
  cuStreamSynchronize(stream);  // TRUE LINE
  LAUNCH(fill, stream);
  CHECK(cuStreamEndCapture(stream, &graph));  // REPORTED LINE
  std::puts("done");
}
