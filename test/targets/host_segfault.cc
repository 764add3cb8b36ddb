// Dies of its own pointer; the GPU has nothing to do with it.
#include "driver.h"

int main() {
  Driver driver;
  CHECK(LAUNCH(driver.kernel("fill"), nullptr));
  CHECK(cuCtxSynchronize());
  volatile int* nowhere = nullptr;
  *nowhere = 1;
}
