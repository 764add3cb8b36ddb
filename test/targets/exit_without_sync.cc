// No call returns the error of a fault, and the program exits with 0.
// Plan: fault kernel=scale nth=2 code=700 when=now
#include "driver.h"

int main() {
  Driver driver;
  CUfunction scale = driver.kernel("scale");
  LAUNCH(scale, nullptr);
  LAUNCH(scale, nullptr);  // TRUE LINE
  std::puts("done");
}
