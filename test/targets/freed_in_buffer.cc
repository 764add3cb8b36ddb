// The parameters are passed as one buffer, which contains a pointer to freed memory.
#include "driver.h"

int main() {
  Driver driver;
  CUfunction store = driver.kernel("sim_store_u32");
  struct {
    CUdeviceptr rows = 0;
    unsigned value = 7;
  } parameters;
  std::size_t size = sizeof parameters;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &parameters, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                   CU_LAUNCH_PARAM_END};
  CHECK(cuMemAlloc(&parameters.rows, 4096));                             // ALLOCATED LINE
  CHECK(cuMemFree(parameters.rows));                                     // FREED LINE
  cuLaunchKernel(store, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, extra);  // TRUE LINE
  CHECK(cuCtxSynchronize());
}
