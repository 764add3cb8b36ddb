// A graph is launched after a kernel on the same stream. The node that gets a pointer inside a structure fails.
// Argument "freed": the pointer's memory was freed after the graph's first launch; "living": other memory was freed;
// "anew": the freed memory was allocated again; "unlaunched": the memory was freed before the graph's first launch;
// "parameter": like unlaunched, and a node has the pointer as a parameter; "both": the kernel has the pointer, too.
// Plan: fault kernel=scale__24_4 nth=2
#include <string_view>

#include "driver.h"

struct Rows {
  long count;
  CUdeviceptr from, to;
};

static CUgraphExec record(const Driver& driver, CUstream stream, Rows rows, bool by_parameter) {
  float factor = 2;
  unsigned value = 7;
  void* structure[] = {&rows, &factor};
  void* parameters[] = {&rows.to, &value};
  CUfunction fill = driver.kernel("fill"), scale = driver.kernel("scale__24_4"), store = driver.kernel("sim_store_u32");
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  LAUNCH(fill, stream);
  cuLaunchKernel(scale, 1, 1, 1, 32, 1, 1, 0, stream, structure, nullptr);  // TRUE LINE
  if (by_parameter) {
    cuLaunchKernel(store, 1, 1, 1, 32, 1, 1, 0, stream, parameters, nullptr);  // STORE LINE
  }
  CHECK(cuStreamEndCapture(stream, &graph));
  CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  CHECK(cuGraphDestroy(graph));
  return exec;
}

int main(int, char** argv) {
  const std::string_view how = argv[1];
  Driver driver;
  CUstream stream = driver.stream();
  CUfunction fill = driver.kernel("fill__8");
  Rows rows{512, driver.allocate(4096), 0};
  CHECK(cuMemAlloc(&rows.to, 8192));  // ALLOCATED LINE
  CUdeviceptr other = driver.allocate(8192);
  CUgraphExec exec = record(driver, stream, rows, how == "parameter");
  if (how != "unlaunched" && how != "parameter") CHECK(cuGraphLaunch(exec, stream));
  CHECK(cuStreamSynchronize(stream));
  CHECK(cuMemFree(how == "living" ? other : rows.to));  // FREED LINE
  while (how == "anew" && driver.allocate(8192) != rows.to) {
  }
  void* parameters[] = {how == "both" ? &rows.to : &rows.from};
  cuLaunchKernel(fill, 1, 1, 1, 32, 1, 1, 0, stream, parameters, nullptr);  // FIRST LINE
  CHECK(cuGraphLaunch(exec, stream));                                       // REPLAY LINE
  CHECK(cuStreamSynchronize(stream));
  std::puts("done");
}
