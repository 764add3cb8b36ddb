// An asynchronous copy runs past the end of its allocation.
#include <vector>

#include "driver.h"

int main() {
  Driver driver;
  CUstream stream = driver.stream();
  CUdeviceptr memory = driver.allocate(4096);
  std::vector<char> host(8192);
  CHECK(cuMemcpyHtoDAsync(memory, host.data(), 4096, stream));
  CHECK(cuMemcpyHtoDAsync(memory, host.data(), 8192, stream));  // TRUE LINE
  CHECK(cuStreamSynchronize(stream));                           // REPORTED LINE
  std::puts("done");
}
