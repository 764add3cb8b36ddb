// Correct: a query of the stream breaks a capture. The program sees that there is no graph, and works without one.
#include "driver.h"

int main() {
  Driver driver;
  CUstream stream = nullptr;
  CHECK(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
  CUfunction fill = driver.kernel("fill");
  CUgraph graph = nullptr;
  CUstreamCaptureStatus status{};
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  cuStreamIsCapturing(nullptr, &status);
  if (LAUNCH(fill, nullptr) != CUDA_SUCCESS) std::puts("not in a capture");
  if (cuStreamEndCapture(stream, &graph) != CUDA_SUCCESS) CHECK(LAUNCH(fill, stream));
  CHECK(cuStreamSynchronize(stream));
  std::puts("done");
}
