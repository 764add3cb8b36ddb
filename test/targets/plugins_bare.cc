// Like plugins_alike.cc, but without code for the device: the kernel belongs to the program.
#include "driver.h"

#ifdef FIRST
extern "C" void step(CUstream stream, CUfunction scale) { LAUNCH(scale, stream); }
#else
extern "C" void step(CUstream stream, CUfunction scale) {
  LAUNCH(scale, stream);  // TRUE LINE
}
#endif
