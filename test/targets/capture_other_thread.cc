// During a capture in global mode, another thread allocates memory, and handles the error. The capturing thread
// continues, and does not handle its own error.
#include <thread>

#include "driver.h"

static void load(const Driver& driver, CUfunction fill, CUstream stream) {
  CHECK(cuCtxSetCurrent(driver.context));
  CUdeviceptr memory = 0;
  if (cuMemAlloc(&memory, 4096) != CUDA_SUCCESS) std::puts("no memory for now");  // TRUE LINE
  CHECK(LAUNCH(fill, stream));
}

int main() {
  Driver driver;
  CUstream stream = driver.stream();
  CUstream other = driver.stream();
  CUfunction fill = driver.kernel("fill");
  CUgraph graph = nullptr;
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));  // CAPTURE LINE
  CHECK(LAUNCH(fill, stream));
  std::thread(load, std::cref(driver), fill, other).join();
  CHECK(LAUNCH(fill, other));
  CHECK(cuStreamEndCapture(stream, &graph));  // REPORTED LINE
  std::puts("done");
}
