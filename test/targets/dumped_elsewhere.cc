// Several lines launch the kernel of test/data/gpucore/load.nvcudmp.gz. Only some of them have its grid.
// - "lost": launch 628 fails, and the records of its line are overwritten before the program notices.
// - "grid": the first launch fails, and in reruns the second one.
// - "node": the first node of a graph fails, and in reruns a launch after the graph.
#include <string_view>

#include "driver.h"

static void lose_records(CUfunction load, CUstream stream, CUstream other) {
  CUevent event = nullptr;
  CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  for (const bool waits : {true, false}) {
    for (int i = 0; i < (waits ? 300 : 24); ++i) cuLaunchKernel(load, 2, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr);
    for (int i = 0; i < (waits ? 300 : 30); ++i) cuLaunchKernel(load, 2, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr);
    if (waits) CHECK(cuStreamSynchronize(stream));
  }
  for (int i = 0; i < 6000; ++i) cuEventRecord(event, other);
}

static void launch_two_grids(CUfunction load, CUstream stream) {
  cuLaunchKernel(load, 7, 1, 1, 64, 1, 1, 0, stream, nullptr, nullptr);  // FIRST
  CHECK(cuStreamSynchronize(stream));
  cuLaunchKernel(load, 2, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr);
}

static void launch_graph(CUfunction fill, CUfunction load, CUstream stream) {
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  LAUNCH(fill, stream);                                                  // NODE 1
  cuLaunchKernel(load, 2, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr);  // NODE 2
  CHECK(cuStreamEndCapture(stream, &graph));
  CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  CHECK(cuGraphLaunch(exec, stream));
  CHECK(cuStreamSynchronize(stream));
  cuLaunchKernel(load, 2, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr);  // AFTER
}

int main(int, char** arguments) {
  Driver driver;
  CUstream stream = driver.stream(), other = driver.stream();
  CUfunction load = driver.kernel("_Z8far_loadPi"), fill = driver.kernel("fill");
  const std::string_view mode = arguments[1];
  if (mode == "lost") lose_records(load, stream, other);
  if (mode == "grid") launch_two_grids(load, stream);
  if (mode == "node") launch_graph(fill, load, stream);
  CHECK(cuStreamSynchronize(stream));
  std::puts("done");
}
