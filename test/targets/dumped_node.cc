// A graph node fails. Its kernel is the one in test/data/gpucore/assert.nvcudmp. With the argument "behind", the graph
// is launched after another kernel, which may still be running.
// Plan: fault kernel=_Z15assert_positivePKi code=710; dump=…/assert.nvcudmp
#include "driver.h"

int main(int argc, char**) {
  Driver driver;
  CUstream stream = driver.stream();
  CUfunction fill = driver.kernel("fill"), checks = driver.kernel("_Z15assert_positivePKi");
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  LAUNCH(fill, stream);
  cuLaunchKernel(checks, 2, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr);  // TRUE LINE
  LAUNCH(fill, stream);
  CHECK(cuStreamEndCapture(stream, &graph));
  CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  if (argc > 1) LAUNCH(fill, stream);
  CHECK(cuGraphLaunch(exec, stream));  // REPLAY LINE
  CHECK(cuStreamSynchronize(stream));  // REPORTED LINE
  std::puts("done");
}
