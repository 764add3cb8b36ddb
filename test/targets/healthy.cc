// A correct program that reads back the value that it wrote. The first argument is the exit status.
#include "driver.h"

int main(int argc, char** argv) {
  Driver driver;
  CUdeviceptr memory = driver.allocate(64);
  unsigned int value = 42;
  void* arguments[] = {&memory, &value};
  CHECK(cuLaunchKernel(driver.kernel("sim_store_u32"), 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr));
  unsigned int back = 0;
  CHECK(cuMemcpyDtoH(&back, memory, sizeof back));
  CHECK(cuMemFree(memory));
  std::printf("value %u\n", back);
  return argc > 1 ? std::atoi(argv[1]) : 0;
}
