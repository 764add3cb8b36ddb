// A graph writes to memory that is freed after its first replay. Argument "freed": the second replay fails; "reused":
// the memory has been allocated again, and the second replay overwrites it.
#include <cstring>

#include "driver.h"

static CUgraphExec record(const Driver& driver, CUstream stream, CUdeviceptr rows) {
  unsigned value = 7;
  void* parameters[] = {&rows, &value};
  CUfunction fill = driver.kernel("fill"), store = driver.kernel("sim_store_u32");
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  LAUNCH(fill, stream);
  cuLaunchKernel(store, 1, 1, 1, 32, 1, 1, 0, stream, parameters, nullptr);  // TRUE LINE
  LAUNCH(fill, stream);
  CHECK(cuStreamEndCapture(stream, &graph));
  CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  CHECK(cuGraphDestroy(graph));
  return exec;
}

int main(int, char** argv) {
  const bool reused = std::strcmp(argv[1], "reused") == 0;
  Driver driver;
  CUstream stream = driver.stream();
  CUdeviceptr rows = 0;
  CHECK(cuMemAlloc(&rows, 4096));  // ALLOCATED LINE
  CUgraphExec exec = record(driver, stream, rows);
  CHECK(cuGraphLaunch(exec, stream));
  CHECK(cuStreamSynchronize(stream));
  CHECK(cuMemFree(rows));  // FREED LINE
  while (reused && driver.allocate(4096) != rows) {
  }
  CHECK(cuGraphLaunch(exec, stream));  // REPLAY LINE
  CHECK(cuStreamSynchronize(stream));  // REPORTED LINE freed
  std::puts("done");
}
