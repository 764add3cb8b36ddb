// One node of a graph with a thousand nodes fails in the second replay. All nodes were captured at one line.
// Plan: fault kernel=fill nth=1412 code=700
#include "driver.h"

int main() {
  Driver driver;
  CUstream stream = driver.stream();
  CUfunction fill = driver.kernel("fill");
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  for (int node = 0; node < 1000; ++node) {
    CHECK(LAUNCH(fill, stream));  // TRUE LINE
  }
  CHECK(cuStreamEndCapture(stream, &graph));
  CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  size_t nodes = 0;
  CHECK(cuGraphGetNodes(graph, nullptr, &nodes));
  CHECK(cuGraphDestroy(graph));
  CHECK(cuGraphLaunch(exec, stream));
  CHECK(cuGraphLaunch(exec, stream));  // REPLAY LINE
  std::printf("%zu nodes\n", nodes);
  CHECK(cuStreamSynchronize(stream));  // REPORTED LINE
  std::puts("done");
}
