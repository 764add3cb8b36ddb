// A stream is destroyed after some launches, and a new stream takes its entry in the recording. The new stream has a
// bad launch, whose error the program gets thousands of launches later.
// Plan: fault kernel=scale nth=1 code=700
#include "driver.h"

static void go_on(CUfunction fill, CUstream lasting) {
  for (int i = 0; i < 5000; ++i) {
    CHECK(LAUNCH(fill, lasting));
    if (i % 1000 == 0) CHECK(cuStreamSynchronize(lasting));
  }
}

int main() {
  Driver driver;
  CUfunction fill = driver.kernel("fill"), scale = driver.kernel("scale");
  CUstream first = driver.stream(), lasting = driver.stream();
  for (int i = 0; i < 16; ++i) CHECK(LAUNCH(fill, first));
  go_on(fill, lasting);
  CHECK(cuStreamSynchronize(lasting));
  CHECK(cuStreamDestroy(first));
  for (int i = 2; i < 128; ++i) CHECK(cuStreamQuery(driver.stream()));
  LAUNCH(scale, driver.stream());  // TRUE LINE
  for (int i = 0; i < 5000; ++i) LAUNCH(fill, lasting);
  CHECK(cuCtxSynchronize());  // REPORTED LINE
}
