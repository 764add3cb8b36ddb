// `race_order WHICH`: two memsets of one buffer on two streams. The second stream never waits for the first, but
// something else orders the memsets.
#include <atomic>
#include <cstring>
#include <thread>

#include "driver.h"

namespace {

constexpr std::size_t kBytes = 1 << 16;
std::atomic<bool> told = false;

void CUDA_CB tell(void*) { told = true; }
void CUDA_CB tell_of(CUstream, CUresult, void*) { told = true; }

CUevent event_of(unsigned flags) {
  CUevent event = nullptr;
  CHECK(cuEventCreate(&event, flags));
  return event;
}

// Captures the work of `issue`, and launches the graph on the stream.
template <typename Issue>
void launch_graph(const Driver& driver, CUstream stream, Issue issue) {
  CUstream captured = driver.stream();
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  CHECK(cuStreamBeginCapture(captured, CU_STREAM_CAPTURE_MODE_RELAXED));
  issue(captured);
  CHECK(cuStreamEndCapture(captured, &graph));
  CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  CHECK(cuGraphLaunch(exec, stream));
}

void time_fill(CUstream stream, CUdeviceptr buffer) {
  CUevent begin = event_of(CU_EVENT_DEFAULT), end = event_of(CU_EVENT_DEFAULT);
  CHECK(cuEventRecord(begin, stream));
  CHECK(cuMemsetD8Async(buffer, 1, kBytes, stream));
  CHECK(cuEventRecord(end, stream));
  float milliseconds = 0;
  while (cuEventElapsedTime(&milliseconds, begin, end) == CUDA_ERROR_NOT_READY) std::this_thread::yield();
}

void fill_from_two_devices(const Driver& driver, CUdeviceptr buffer, bool copies) {
  CUcontext other = nullptr;
  CUdeviceptr there = 0;
  CHECK(cuDevicePrimaryCtxRetain(&other, 1));
  CHECK(cuCtxSetCurrent(other));
  CHECK(cuMemAlloc(&there, kBytes));
  CHECK(cuCtxSetCurrent(driver.context));
  CHECK(cuMemsetD8Async(buffer, 1, kBytes, nullptr));
  if (copies) CHECK(cuMemcpyDtoD(there, buffer, kBytes));
  CHECK(cuCtxSetCurrent(other));
  if (copies) CHECK(cuMemsetD8Async(there, 1, kBytes, nullptr));
  CHECK(cuMemsetD8Async(buffer, 1, kBytes, nullptr));
}

}  // namespace

int main(int, char** arguments) {
  const auto is = [&](const char* name) { return std::strcmp(arguments[1], name) == 0; };
  Driver driver;
  CUstream first = driver.stream(), second = driver.stream(), between = driver.stream();
  CUdeviceptr buffer = driver.allocate(kBytes), word = driver.allocate(4096);
  CUevent event = event_of(CU_EVENT_DISABLE_TIMING);
  const auto fill = [&](CUstream stream) { CHECK(cuMemsetD8Async(buffer, 1, kBytes, stream)); };
  if (is("graph_event")) {
    launch_graph(driver, first, [&](CUstream captured) {
      fill(captured);
      CHECK(cuEventRecordWithFlags(event, captured, CU_EVENT_RECORD_EXTERNAL));
    });
    CHECK(cuStreamWaitEvent(second, event, 0));
  } else if (is("graph_waits_for_event")) {
    fill(first);
    CHECK(cuEventRecord(event, first));
    launch_graph(driver, second, [&](CUstream captured) {
      CHECK(cuStreamWaitEvent(captured, event, CU_EVENT_WAIT_EXTERNAL));
      fill(captured);
    });
  } else if (is("graph_function")) {
    launch_graph(driver, first, [&](CUstream captured) {
      fill(captured);
      CHECK(cuLaunchHostFunc(captured, tell, nullptr));
    });
  } else if (is("graph_word")) {
    fill(first);
    CHECK(cuStreamWriteValue32(first, word, 1, 0));
    launch_graph(driver, second, [&](CUstream captured) {
      CHECK(cuStreamWaitValue32(captured, word, 1, CU_STREAM_WAIT_VALUE_EQ));
      fill(captured);
    });
  } else if (is("context_event")) {
    fill(first);
    CHECK(cuCtxRecordEvent(driver.context, event));
    CHECK(cuStreamWaitEvent(second, event, 0));
  } else if (is("function_behind")) {
    fill(first);
    CHECK(cuEventRecord(event, first));
    CHECK(cuStreamWaitEvent(between, event, 0));
    CHECK(cuLaunchHostFunc(between, tell, nullptr));
  } else if (is("callback")) {
    fill(first);
    CHECK(cuStreamAddCallback(first, tell_of, nullptr, 0));
  } else if (is("elapsed")) {
    time_fill(first, buffer);
  }
  if (is("graph_function") || is("function_behind") || is("callback")) {
    while (!told) std::this_thread::yield();
  }
  if (is("copy_between_devices") || is("devices")) {
    fill_from_two_devices(driver, buffer, is("copy_between_devices"));
  } else if (!is("graph_waits_for_event") && !is("graph_word")) {
    fill(second);
  }
  CHECK(cuCtxSynchronize());
  std::puts("done");
}
