// More streams exist at once than the recorder has room for, and each has three launches. Then one launch fails.
// Plan: fault stream=100 nth=4 code=700
#include <vector>

#include "driver.h"

int main() {
  Driver driver;
  CUfunction fill = driver.kernel("fill");
  std::vector<CUstream> streams;
  for (int i = 0; i < 4096 + 100; ++i) streams.push_back(driver.stream());
  for (CUstream stream : streams) {
    for (int i = 0; i < 3; ++i) CHECK(LAUNCH(fill, stream));
  }
  CHECK(cuCtxSynchronize());
  LAUNCH(fill, streams[99]);  // TRUE LINE
  CHECK(cuCtxSynchronize());  // REPORTED LINE
}
