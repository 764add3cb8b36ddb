// Two devices: a kernel gets memory of the other device, first with access to it and then, unless the argument is
// "given", without access.
// Plan: devices=2; fault kernel=sim_store_u32 nth=2 code=700
#include <cstring>

#include "driver.h"

int main(int argc, char** argv) {
  Driver driver;
  CUfunction store = driver.kernel("sim_store_u32");
  CUcontext other = nullptr;
  CHECK(cuDevicePrimaryCtxRetain(&other, 1));
  CHECK(cuCtxSetCurrent(other));
  CUdeviceptr rows = 0;
  CHECK(cuMemAlloc(&rows, 4096));  // MADE LINE
  CHECK(cuCtxSetCurrent(driver.context));
  CHECK(cuCtxEnablePeerAccess(other, 0));
  unsigned value = 7;
  void* parameters[] = {&rows, &value};
  CHECK(cuLaunchKernel(store, 1, 1, 1, 32, 1, 1, 0, nullptr, parameters, nullptr));
  CHECK(cuCtxSynchronize());
  if (argc < 2 || std::strcmp(argv[1], "given") != 0) CHECK(cuCtxDisablePeerAccess(other));
  CHECK(cuLaunchKernel(store, 1, 1, 1, 32, 1, 1, 0, nullptr, parameters, nullptr));  // TRUE LINE
  CHECK(cuCtxSynchronize());
}
