// A launch of no blocks. The driver refuses it without reading its parameters, which are at an invalid address.
#include "driver.h"

int main() {
  Driver driver;
  void* parameters[] = {reinterpret_cast<void*>(8)};
  const CUresult refused = cuLaunchKernel(driver.kernel("fill__8"), 0, 1, 1, 32, 1, 1, 0, nullptr, parameters, nullptr);
  return refused == CUDA_ERROR_INVALID_VALUE ? 0 : 1;
}
