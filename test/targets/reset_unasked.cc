// Nobody asks how the work went: the device is reset, and the program ends well.
// Plan: fault kernel=scale nth=2 code=700
#include "driver.h"

int main() {
  Driver driver;
  CUfunction scale = driver.kernel("scale");
  LAUNCH(scale, nullptr);
  LAUNCH(scale, nullptr);  // TRUE LINE
  CHECK(cuDevicePrimaryCtxReset(0));
}
