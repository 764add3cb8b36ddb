// A copy is 512 bytes longer than its destination buffer. The addresses of the copy are known without a rerun.
#include "driver.h"

int main() {
  Driver driver;
  CUdeviceptr rows = 0, wide = 0;
  CHECK(cuMemAlloc(&rows, 4096));  // ALLOCATED LINE
  CHECK(cuMemAlloc(&wide, 8192));
  CHECK(cuMemcpyDtoDAsync(rows, wide, 4608, nullptr));  // TRUE LINE
  CHECK(cuCtxSynchronize());
}
