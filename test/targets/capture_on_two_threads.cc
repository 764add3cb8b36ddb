// Two threads capture at once, each in thread-local mode, and both break their captures. Only one of them handles the
// error.
#include <thread>

#include "driver.h"

static void copes(const Driver& driver, CUfunction fill, CUstream stream) {
  CUgraph graph = nullptr;
  CUdeviceptr memory = 0;
  CHECK(cuCtxSetCurrent(driver.context));
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  cuMemAlloc(&memory, 4096);
  if (cuStreamEndCapture(stream, &graph) != CUDA_SUCCESS) std::puts("no graph");
  CHECK(LAUNCH(fill, stream));
}

int main() {
  Driver driver;
  CUstream stream = driver.stream();
  CUstream other = driver.stream();
  CUfunction fill = driver.kernel("fill");
  CUgraph graph = nullptr;
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));  // CAPTURE LINE
  std::thread(copes, std::cref(driver), fill, other).join();
  CHECK(LAUNCH(fill, stream));
  cuStreamSynchronize(stream);                // TRUE LINE
  CHECK(cuStreamEndCapture(stream, &graph));  // REPORTED LINE
  std::puts("done");
}
