// A memset runs past the end of its allocation.
#include "driver.h"

int main() {
  Driver driver;
  CUstream stream = driver.stream();
  CUdeviceptr memory = driver.allocate(4096);
  CHECK(cuMemsetD8Async(memory, 0, 4096, stream));
  CHECK(cuMemsetD8Async(memory, 0, 1 << 20, stream));  // TRUE LINE
  CHECK(cuStreamSynchronize(stream));                  // REPORTED LINE
  std::puts("done");
}
