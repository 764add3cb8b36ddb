// The bad stream stops before its third launch, the healthy one after its third.
// Plan: fault kernel=scale nth=3 code=700 after=stream:2:3 run=1; fault kernel=scale nth=3 code=700 run=2-
#include "driver.h"

int main() {
  Driver driver;
  CUfunction scale = driver.kernel("scale");
  CUfunction fill = driver.kernel("fill");
  CUstream bad = driver.stream();
  CUstream healthy = driver.stream();
  LAUNCH(scale, bad);
  LAUNCH(scale, bad);
  LAUNCH(scale, bad);                                 // TRUE LINE
  for (int i = 0; i < 5; ++i) LAUNCH(fill, healthy);  // OTHER CANDIDATE
  CHECK(cuStreamSynchronize(healthy));                // REPORTED LINE
  CHECK(cuStreamSynchronize(bad));
  std::puts("done");
}
