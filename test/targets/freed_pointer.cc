// A kernel stores through a pointer whose memory was freed one line earlier.
#include "driver.h"

int main() {
  Driver driver;
  CUfunction store = driver.kernel("sim_store_u32");
  CUdeviceptr rows = 0;
  unsigned value = 7;
  CHECK(cuMemAlloc(&rows, 4096));  // ALLOCATED LINE
  void* parameters[] = {&rows, &value};
  cuLaunchKernel(store, 1, 1, 1, 32, 1, 1, 0, nullptr, parameters, nullptr);
  CHECK(cuCtxSynchronize());
  CHECK(cuMemFree(rows));                                                     // FREED LINE
  cuLaunchKernel(store, 1, 1, 1, 32, 1, 1, 0, nullptr, parameters, nullptr);  // TRUE LINE
  CHECK(cuCtxSynchronize());
}
