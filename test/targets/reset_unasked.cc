// No call checks for errors. The program resets the device and exits with 0.
// Plan: fault kernel=scale nth=2 code=700
#include "driver.h"

int main() {
  Driver driver;
  CUfunction scale = driver.kernel("scale");
  LAUNCH(scale, nullptr);
  LAUNCH(scale, nullptr);  // TRUE LINE
  CHECK(cuDevicePrimaryCtxReset(0));
}
