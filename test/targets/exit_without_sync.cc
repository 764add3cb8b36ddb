// A fault that no call asks about: the program ends with 0.
// Plan: fault kernel=scale nth=2 code=700 when=now
#include "driver.h"

int main() {
  Driver driver;
  CUfunction scale = driver.kernel("scale");
  LAUNCH(scale, nullptr);
  LAUNCH(scale, nullptr);  // TRUE LINE
  std::puts("done");
}
