// As plugins_alike.cc, without code for the device: the kernel is the program's.
#include "driver.h"

#ifdef FIRST
extern "C" void step(CUstream stream, CUfunction scale) { LAUNCH(scale, stream); }
#else
extern "C" void step(CUstream stream, CUfunction scale) {
  LAUNCH(scale, stream);  // TRUE LINE
}
#endif
