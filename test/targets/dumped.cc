// The third launch fails, with the kernel of test/data/gpucore/assert.nvcudmp. No earlier call checks for errors.
// Plan: fault kernel=_Z15assert_positivePKi code=710; dump=…/assert.nvcudmp
#include "driver.h"

int main() {
  Driver driver;
  CUstream stream = driver.stream();
  CUfunction fill = driver.kernel("fill"), checks = driver.kernel("_Z15assert_positivePKi");
  LAUNCH(fill, stream);
  LAUNCH(fill, stream);
  cuLaunchKernel(checks, 2, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr);  // TRUE LINE
  LAUNCH(fill, stream);
  CHECK(cuStreamSynchronize(stream));  // REPORTED LINE
  std::puts("done");
}
