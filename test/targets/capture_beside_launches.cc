// Correct: one thread captures in global mode, over and over, while others launch. cudadiag must not break a capture.
#include <thread>
#include <vector>

#include "driver.h"

static void capture(const Driver& driver, CUfunction fill) {
  CHECK(cuCtxSetCurrent(driver.context));
  CUstream stream = driver.stream();
  for (int i = 0; i < 200; ++i) {
    CUgraph graph = nullptr;
    CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    for (int node = 0; node < 20; ++node) CHECK(LAUNCH(fill, stream));
    CHECK(cuStreamEndCapture(stream, &graph));
    CHECK(cuGraphDestroy(graph));
  }
}

static void launch(const Driver& driver, CUfunction fill, CUstream stream) {
  CHECK(cuCtxSetCurrent(driver.context));
  for (int i = 0; i < 5000; ++i) CHECK(LAUNCH(fill, stream));
}

int main() {
  Driver driver;
  CUfunction fill = driver.kernel("fill");
  std::vector<CUstream> streams;
  for (int i = 0; i < 3; ++i) streams.push_back(driver.stream());
  std::vector<std::thread> threads;
  for (CUstream stream : streams) threads.emplace_back(launch, std::cref(driver), fill, stream);
  threads.emplace_back(capture, std::cref(driver), fill);
  for (std::thread& thread : threads) thread.join();
  CHECK(cuCtxSynchronize());
  std::puts("done");
}
