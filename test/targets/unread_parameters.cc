// Launches without blocks, and launches that no GPU can run. The driver rejects them without reading their parameters,
// which are at an invalid address.
#include "driver.h"

int main() {
  constexpr unsigned kLaunches[][7] = {
      {0, 1, 1, 32, 1, 1, 0},     {1, 1, 1, 2048, 1, 1, 0},      {1, 1, 1, 1, 1, 65, 0},     {1, 1, 1, 64, 32, 1, 0},
      {1, 65536, 1, 32, 1, 1, 0}, {1u << 31, 1, 1, 32, 1, 1, 0}, {1, 1, 1, 32, 1, 1, 300000}};
  Driver driver;
  const CUfunction fill = driver.kernel("fill__8");
  void* parameters[] = {reinterpret_cast<void*>(8)};
  for (const auto& [gx, gy, gz, x, y, z, shared] : kLaunches) {
    if (cuLaunchKernel(fill, gx, gy, gz, x, y, z, shared, nullptr, parameters, nullptr) != CUDA_ERROR_INVALID_VALUE)
      return 1;
  }
}
