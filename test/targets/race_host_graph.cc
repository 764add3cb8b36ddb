// The host changes memory that the copies in a graph have yet to read, or only appears to do so: `race_host_graph WHICH
// [queried]`.
// Plan: hold kernel=slow until=notify
#include <atomic>
#include <cstring>
#include <vector>

#include "driver.h"

extern "C" void sim_notify();

constexpr std::size_t kBytes = 60'000, kHalf = kBytes / 2;

static bool is(const char* which, const char* name) { return std::strcmp(which, name) == 0; }

// Waits for a word on the GPU. The simulated GPU's memory is host memory.
static void appears(CUdeviceptr word) {
  while (reinterpret_cast<const std::atomic<unsigned>*>(word)->load() == 0) {
  }
}

static void CUDA_CB tell(void* word) { static_cast<std::atomic<unsigned>*>(word)->store(1); }

int main(int, char** arguments) {
  const char* which = arguments[1];
  Driver driver;
  CUfunction slow = driver.kernel("slow");
  CUstream stream = driver.stream(), other = driver.stream();
  std::vector<unsigned char> own(kBytes, 1);
  unsigned char* source = own.data();
  if (!is(which, "pageable")) CHECK(cuMemHostAlloc(reinterpret_cast<void**>(&source), kBytes, 0));
  CUdeviceptr device = driver.allocate(kBytes), word = driver.allocate(64);
  CUevent event = nullptr;
  CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  CHECK(cuMemsetD8(word, 0, 64));
  std::memset(source, 1, kBytes);
  CHECK(cuCtxSynchronize());
  // The copy reads the first half. In these cases, the graph begins with a memset, by which the program knows that the
  // graph has begun, and with a kernel that takes long.
  bool late = false;
  for (const char* each : {"late", "told", "written"}) late |= is(which, each);
  const std::size_t bytes = is(which, "pageable") ? kBytes : kHalf;
  std::atomic<unsigned> told = 0;
  CUgraph graph = nullptr;
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  if (late) CHECK(cuMemsetD32Async(word, 1, 1, stream));
  if (late && !is(which, "told")) LAUNCH(slow, stream);
  if (is(which, "awaits")) CHECK(cuStreamWaitEvent(stream, event, CU_EVENT_WAIT_EXTERNAL));
  if (is(which, "written")) CHECK(cuMemcpyDtoHAsync(source, word, 64, stream));
  CHECK(cuMemcpyHtoDAsync(device, source, bytes, stream));  // CAPTURE LINE
  if (is(which, "told")) CHECK(cuLaunchHostFunc(stream, tell, &told));
  if (is(which, "told")) LAUNCH(slow, stream);
  CHECK(cuStreamEndCapture(stream, &graph));
  if (is(which, "child")) {
    CUgraph parent = nullptr;
    CUgraphNode node = nullptr;
    CHECK(cuGraphCreate(&parent, 0));
    CHECK(cuGraphAddChildGraphNode(&node, parent, nullptr, 0, graph));
    graph = parent;
  }
  CUgraphExec exec = nullptr;
  CHECK(cuGraphInstantiate(&exec, graph, 0));
  if (is(which, "moved") || is(which, "moved_away")) {
    CUgraphNode node = nullptr;
    std::size_t count = 1;
    CHECK(cuGraphGetNodes(graph, &node, &count));
    CUDA_MEMCPY3D to = {};
    to.srcMemoryType = CU_MEMORYTYPE_HOST;
    to.srcHost = source + kHalf;
    to.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    to.dstDevice = device;
    to.WidthInBytes = kHalf;
    to.Height = to.Depth = 1;
    CHECK(cuGraphExecMemcpyNodeSetParams(exec, node, &to, driver.context));  // MOVED LINE
  }
  if (!late) LAUNCH(slow, stream);
  CHECK(cuGraphLaunch(exec, stream));  // REPLAY LINE
  if (late) appears(word);
  if (is(which, "told")) appears(reinterpret_cast<CUdeviceptr>(&told));
  if (is(which, "waited")) {
    sim_notify();
    CHECK(cuStreamSynchronize(stream));
  }
  if (is(which, "other_awaited")) CHECK(cuStreamSynchronize(other));
  if (is(which, "beside")) {
    std::memset(source + kHalf, 2, kHalf);
  } else if (is(which, "moved")) {
    std::memset(source + kHalf + 100, 2, 1000);
  } else if (!is(which, "written")) {
    std::memset(source + 100, 2, 1000);
  }
  if (arguments[2] != nullptr) cuStreamQuery(stream);  // while the graph is pending
  if (is(which, "released")) CHECK(cuMemsetD8Async(word, 1, 1, other));
  sim_notify();
  CHECK(cuCtxSynchronize());
  std::puts("done");
}
