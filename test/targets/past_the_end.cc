// A kernel stores 256 bytes after the end of its buffer.
#include "driver.h"

int main() {
  Driver driver;
  CUfunction store = driver.kernel("sim_store_u32");
  CUdeviceptr rows = 0;
  unsigned value = 7;
  CHECK(cuMemAlloc(&rows, 4096));  // ALLOCATED LINE
  CUdeviceptr place = rows + 4096 + 256;
  void* parameters[] = {&place, &value};
  cuLaunchKernel(store, 1, 1, 1, 32, 1, 1, 0, nullptr, parameters, nullptr);  // TRUE LINE
  CHECK(cuCtxSynchronize());
}
