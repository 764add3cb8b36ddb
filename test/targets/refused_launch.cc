// The driver rejects a block with too many threads, and logs an explanation.
#include "driver.h"

int main() {
  Driver driver;
  CUfunction scale = driver.kernel("scale");
  CHECK(cuLaunchKernel(scale, 1, 1, 1, 2048, 1, 1, 0, nullptr, nullptr, nullptr));  // TRUE LINE
  std::puts("done");
}
