// An allocation fails, and the program exits because of the error.
// Plan: fail api=cuMemAlloc_v2 nth=2 code=2
#include "driver.h"

int main() {
  Driver driver;
  driver.allocate(4096);
  CUdeviceptr memory = 0;
  CHECK(cuMemAlloc(&memory, 4096));  // TRUE LINE
  std::puts("done");
}
