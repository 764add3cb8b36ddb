// An allocation fails unnoticed, and a kernel gets the resulting null pointer.
// Plan: memory=64
#include "driver.h"

int main() {
  Driver driver;
  CUfunction store = driver.kernel("sim_store_u32");
  CUdeviceptr rows = 0;
  cuMemAlloc(&rows, 1ull << 30);  // FAILED LINE
  unsigned value = 7;
  void* parameters[] = {&rows, &value};
  cuLaunchKernel(store, 1, 1, 1, 32, 1, 1, 0, nullptr, parameters, nullptr);  // TRUE LINE
  CHECK(cuCtxSynchronize());
  std::puts("done");
}
