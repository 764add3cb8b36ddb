// A thread that did not begin the capture tries to end it.
// Plan: fail api=cuStreamEndCapture nth=2 code=901
#include <thread>

#include "driver.h"

static void end(const Driver& driver, CUstream stream) {
  CUgraph graph = nullptr;
  CHECK(cuCtxSetCurrent(driver.context));
  cuStreamEndCapture(stream, &graph);  // TRUE LINE
}

int main() {
  Driver driver;
  CUstream stream = driver.stream();
  CUgraph graph = nullptr;
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));  // CAPTURE LINE
  CHECK(LAUNCH(driver.kernel("fill"), stream));
  std::thread(end, std::cref(driver), stream).join();
  CHECK(LAUNCH(driver.kernel("fill"), stream));
  CHECK(cuStreamEndCapture(stream, &graph));  // REPORTED LINE
  std::puts("done");
}
