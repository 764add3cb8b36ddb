// One of ten launches faults. A later copy, which is itself correct, reports the fault.
// Plan: fault kernel=scale nth=3 code=700
#include "driver.h"

static void work(const Driver& driver, CUstream stream, CUdeviceptr memory) {
  CUfunction fill = driver.kernel("fill");
  CUfunction scale = driver.kernel("scale");
  LAUNCH(scale, stream);
  LAUNCH(scale, stream);
  LAUNCH(scale, stream);  // TRUE LINE
  for (int i = 0; i < 7; ++i) LAUNCH(fill, stream);
  int value = 0;
  CHECK(cuMemcpyDtoH(&value, memory, sizeof value));  // REPORTED LINE
}

int main() {
  Driver driver;
  work(driver, driver.stream(), driver.allocate(4096));
  std::puts("done");
}
