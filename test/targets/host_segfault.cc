// A bad host pointer crashes the program. The GPU is not involved.
#include "driver.h"

int main() {
  Driver driver;
  CHECK(LAUNCH(driver.kernel("fill"), nullptr));
  CHECK(cuCtxSynchronize());
  volatile int* nowhere = nullptr;
  *nowhere = 1;
}
