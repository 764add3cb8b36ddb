// A caller with a frame of more than half a mebibyte, as in Fortran and HPC code, that launches many times.
// Plan: fault kernel=fill nth=6000 code=700
#include "driver.h"

static void run(const Driver& driver) {
  volatile char local[600 << 10] = {};
  CUfunction fill = driver.kernel("fill");
  for (int i = 0; i < 6000; ++i) {
    local[i] = local[i + 1];
    LAUNCH(fill, nullptr);  // TRUE LINE
  }
}

int main() {
  Driver driver;
  run(driver);
  CHECK(cuStreamSynchronize(nullptr));  // REPORTED LINE
  std::puts("done");
}
