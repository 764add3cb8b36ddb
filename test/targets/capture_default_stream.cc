// A launch on the default stream during the capture of a stream that synchronises with it.
#include "driver.h"

int main() {
  Driver driver;
  CUstream stream = nullptr;
  CHECK(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
  CUfunction fill = driver.kernel("fill");
  CUgraph graph = nullptr;
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));  // CAPTURE LINE
  CHECK(LAUNCH(fill, stream));
  LAUNCH(fill, nullptr);                      // TRUE LINE
  CHECK(cuStreamEndCapture(stream, &graph));  // REPORTED LINE
  std::puts("done");
}
