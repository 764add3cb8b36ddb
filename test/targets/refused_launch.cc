// The driver rejects a block with too many threads, and logs an explanation. With the argument "bounds", the block has too
// many threads for this kernel only, and the driver explains nothing.
#include "driver.h"

int main(int count, char**) {
  Driver driver;
  CUfunction scale = driver.kernel("scale");
  if (count > 1) {
    CHECK(cuFuncSetAttribute(scale, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 256));
    CHECK(cuLaunchKernel(scale, 1, 1, 1, 256, 1, 1, 0, nullptr, nullptr, nullptr));
    CHECK(cuLaunchKernel(scale, 1, 1, 1, 512, 1, 1, 0, nullptr, nullptr, nullptr));
  }
  CHECK(cuLaunchKernel(scale, 1, 1, 1, 2048, 1, 1, 0, nullptr, nullptr, nullptr));  // TRUE LINE
  std::puts("done");
}
