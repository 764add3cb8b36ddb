// More captures are in progress at once than the recorder has room for, and all of them end. Then one of several
// launches fails.
// Plan: fault kernel=scale nth=1 code=700
#include <vector>

#include "driver.h"

int main() {
  Driver driver;
  std::vector<CUstream> streams;
  for (int i = 0; i < 64 + 1; ++i) streams.push_back(driver.stream());
  for (CUstream stream : streams) CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  for (CUstream stream : streams) {
    CUgraph graph = nullptr;
    CHECK(cuStreamEndCapture(stream, &graph));
  }
  CUstream stream = driver.stream();
  CUfunction fill = driver.kernel("fill");
  for (int i = 0; i < 3; ++i) CHECK(LAUNCH(fill, stream));
  LAUNCH(driver.kernel("scale"), stream);  // TRUE LINE
  CHECK(cuStreamSynchronize(stream));      // REPORTED LINE
}
