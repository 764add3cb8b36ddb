// Launches a CUkernel of a library, passed as if it were a CUfunction.
#include "driver.h"

int main() {
  Driver driver;
  CUlibrary library = nullptr;
  CUkernel store = nullptr;
  CHECK(cuLibraryLoadData(&library, "target", nullptr, nullptr, 0, nullptr, nullptr, 0));
  CHECK(cuLibraryGetKernel(&store, library, "sim_store_u32"));
  CUdeviceptr rows = 0;
  unsigned value = 7;
  CHECK(cuMemAllocAsync(&rows, 4096, nullptr));  // ALLOCATED LINE
  CHECK(cuMemFreeAsync(rows, nullptr));          // FREED LINE
  void* parameters[] = {&rows, &value};
  auto* function = reinterpret_cast<CUfunction>(store);
  cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, nullptr, parameters, nullptr);  // TRUE LINE
  CHECK(cuCtxSynchronize());
}
