// An event is recorded after a kernel, and is then reused without any call on the kernel's stream. The event's
// completion therefore says nothing about the kernel. ./event_elsewhere gone|context|graph
// Plan: hold kernel=slow until=notify run=1; fault kernel=scale code=700
#include <cstring>

#include "driver.h"

extern "C" void sim_notify();

// Reuses the handle of a destroyed event. The new event was never recorded, so a wait for it returns at once.
static CUevent made_anew(CUevent event) {
  CUevent again = nullptr;
  CHECK(cuEventDestroy(event));
  CHECK(cuEventCreate(&again, 0));
  return again;
}

static void record_in_context(const Driver& driver, CUevent event) {
  CUcontext other = nullptr;
#if CUDA_VERSION >= 13000
  CHECK(cuCtxCreate(&other, nullptr, 0, 0));
#else
  CHECK(cuCtxCreate(&other, 0, 0));
#endif
  CHECK(cuCtxRecordEvent(other, event));
  CHECK(cuCtxSetCurrent(driver.context));
}

static void record_in_graph(CUstream stream, CUevent event) {
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CHECK(cuEventRecordWithFlags(event, stream, CU_EVENT_RECORD_EXTERNAL));
  CHECK(cuStreamEndCapture(stream, &graph));
  CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  CHECK(cuGraphLaunch(exec, stream));
}

int main(int, char** argv) {
  Driver driver;
  CUstream stream = driver.stream(), beside = driver.stream();
  CUfunction slow = driver.kernel("slow"), good = driver.kernel("fill"), bad = driver.kernel("scale");
  CUevent event = nullptr;
  CHECK(cuEventCreate(&event, 0));
  LAUNCH(slow, stream);
  LAUNCH(bad, stream);  // TRUE LINE
  CHECK(cuEventRecord(event, stream));
  if (std::strcmp(argv[1], "gone") == 0) event = made_anew(event);
  if (std::strcmp(argv[1], "context") == 0) record_in_context(driver, event);
  if (std::strcmp(argv[1], "graph") == 0) record_in_graph(beside, event);
  CHECK(cuEventSynchronize(event));
  LAUNCH(good, stream);  // OTHER CANDIDATE
  sim_notify();
  CHECK(cuStreamSynchronize(stream));  // REPORTED LINE
  std::puts("done");
}
