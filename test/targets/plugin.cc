// The library that dlopened_kernel opens: its launch is the failing one.
#include "driver.h"

extern "C" void smooth(CUstream stream) {
  Driver driver;
  CUfunction scale = driver.kernel("scale");
  LAUNCH(scale, stream);
  LAUNCH(scale, stream);  // TRUE LINE
}
