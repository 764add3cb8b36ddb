// An allocation fails, and the program ends because of it.
// Plan: fail api=cuMemAlloc_v2 nth=2 code=2
#include "driver.h"

int main() {
  Driver driver;
  driver.allocate(4096);
  CUdeviceptr memory = 0;
  CHECK(cuMemAlloc(&memory, 4096));  // TRUE LINE
  std::puts("done");
}
