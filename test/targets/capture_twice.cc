// Two captures on one stream. The first is broken and abandoned; the failure of the second is fatal.
#include "driver.h"

int main() {
  Driver driver;
  CUstream stream = driver.stream();
  CUgraph graph = nullptr;
  CUdeviceptr memory = 0;
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  if (cuMemAlloc(&memory, 4096) != CUDA_SUCCESS) std::puts("not in a capture, then");
  if (cuStreamEndCapture(stream, &graph) != CUDA_SUCCESS) std::puts("once more");
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));  // CAPTURE LINE
  cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);               // fails: the stream is being captured
  cuStreamQuery(stream);                                                     // TRUE LINE
  CHECK(cuStreamEndCapture(stream, &graph));                                 // REPORTED LINE
  std::puts("done");
}
