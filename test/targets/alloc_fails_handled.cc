// An allocation fails, and the program handles the error.
#include "driver.h"

int main() {
  Driver driver;
  CUdeviceptr memory = 0;
  std::size_t bytes = std::size_t{64} << 30;
  while (cuMemAlloc(&memory, bytes) == CUDA_ERROR_OUT_OF_MEMORY) bytes /= 2;
  CHECK(cuMemFree(memory));
  std::puts("done");
}
