// A thousand streams that exist at the same time; with a plan, an operation on one of them fails.
// Plan: fault stream=700 nth=2 code=700
#include <vector>

#include "driver.h"

int main() {
  Driver driver;
  CUfunction fill = driver.kernel("fill");
  std::vector<CUstream> streams;
  for (int i = 0; i < 1000; ++i) streams.push_back(driver.stream());
  for (int round = 0; round < 3; ++round) {
    for (CUstream stream : streams) LAUNCH(fill, stream);  // TRUE LINE
  }
  CHECK(cuCtxSynchronize());  // REPORTED LINE
  for (CUstream stream : streams) CHECK(cuStreamDestroy(stream));
  std::puts("done");
}
