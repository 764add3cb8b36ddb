// The program does not check the error of an invalid launch. It exits with 0 and a wrong result.
#include "runtime.h"

KERNEL(scale);

int main() {
  void* memory = nullptr;
  if (cudaMalloc(&memory, 4096) != cudaSuccess) return 1;
  LAUNCH(scale, dim3(1), dim3(2048));  // TRUE LINE
  int value = 0;
  cudaMemcpy(&value, memory, sizeof value, cudaMemcpyDeviceToHost);
  std::printf("value %d\n", value);
}
