// An executable graph is updated between its replays; the kernel that was captured last fails.
// Plan: fault kernel=scale nth=2 code=700
#include "driver.h"

static CUgraph captured(CUstream stream, CUfunction scale, bool first) {
  CUgraph graph = nullptr;
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  // The compiler would merge two equal launches.
  if (first) {
    CHECK(cuLaunchKernel(scale, 1, 1, 1, 64, 1, 1, 0, stream, nullptr, nullptr));
  } else {
    CHECK(LAUNCH(scale, stream));  // TRUE LINE
  }
  CHECK(cuStreamEndCapture(stream, &graph));
  return graph;
}

int main() {
  Driver driver;
  CUstream stream = driver.stream();
  CUfunction scale = driver.kernel("scale");
  CUgraphExec exec = nullptr;
  CUgraph graph = captured(stream, scale, true);
  CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  CHECK(cuGraphDestroy(graph));
  CHECK(cuGraphLaunch(exec, stream));
  CUgraphExecUpdateResultInfo info;
  graph = captured(stream, scale, false);
  CHECK(cuGraphExecUpdate(exec, graph, &info));
  CHECK(cuGraphDestroy(graph));
  CHECK(cuGraphLaunch(exec, stream));  // REPLAY LINE
  CHECK(cuStreamSynchronize(stream));  // REPORTED LINE
  std::puts("done");
}
