// A graph node faults in the graph's second replay.
// Plan: fault kernel=scale nth=2 code=700
#include "driver.h"

static CUgraphExec record(const Driver& driver, CUstream stream) {
  CUfunction fill = driver.kernel("fill");
  CUfunction scale = driver.kernel("scale");
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  LAUNCH(fill, stream);
  LAUNCH(scale, stream);  // CAPTURED LINE
  LAUNCH(fill, stream);
  CHECK(cuStreamEndCapture(stream, &graph));
  CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  CHECK(cuGraphDestroy(graph));
  return exec;
}

int main() {
  Driver driver;
  CUstream stream = driver.stream();
  CUgraphExec exec = record(driver, stream);
  for (int replay = 0; replay < 3; ++replay) {
    cuGraphLaunch(exec, stream);  // TRUE LINE
  }
  CHECK(cuStreamSynchronize(stream));  // REPORTED LINE
  std::puts("done");
}
