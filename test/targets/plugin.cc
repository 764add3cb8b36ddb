// The library that dlopened_kernel opens. Its launch fails.
#include "driver.h"

extern "C" void smooth(CUstream stream) {
  Driver driver;
  CUfunction scale = driver.kernel("scale");
  LAUNCH(scale, stream);
  LAUNCH(scale, stream);  // TRUE LINE
}
