// Streams that exist for a few launches each. The last stream is destroyed after a bad launch, whose error the program
// receives thousands of operations later.
// Plan: fault kernel=scale nth=1 code=700
#include "driver.h"

int main() {
  Driver driver;
  CUfunction fill = driver.kernel("fill"), scale = driver.kernel("scale");
  CUstream lasting = driver.stream();
  for (int i = 0; i < 40; ++i) {
    CUstream stream = driver.stream();
    CHECK(LAUNCH(fill, stream));
    CHECK(LAUNCH(fill, stream));
    CHECK(cuStreamDestroy(stream));
  }
  CUstream stream = driver.stream();
  LAUNCH(scale, stream);  // TRUE LINE
  CHECK(cuStreamDestroy(stream));
  CUevent event = nullptr;
  CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  for (int i = 0; i < 5000; ++i) cuEventRecord(event, lasting);
  CHECK(cuCtxSynchronize());  // REPORTED LINE
}
