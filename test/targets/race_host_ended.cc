// A graph is replayed with host memory that has ended, or only with memory that looks like it: `race_host_ended WHICH`.
#include <cstring>
#include <thread>

#include "driver.h"

constexpr std::size_t kBytes = 4096;

static bool is(const char* which, const char* name) { return std::strcmp(which, name) == 0; }

static CUstream stream;
static CUdeviceptr device;
static unsigned char kept[kBytes];

static CUgraphExec copy_of(const void* source) {
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  CHECK(cuMemcpyHtoDAsync(device, source, kBytes, stream));  // COPY LINE
  CHECK(cuStreamEndCapture(stream, &graph));
  CHECK(cuGraphInstantiate(&exec, graph, 0));
  return exec;
}

static __attribute__((noinline)) CUgraphExec copy_of_variable(bool keep) {
  unsigned char table[kBytes];
  std::memset(table, 1, kBytes);
  std::memcpy(kept, table, kBytes);
  CUgraphExec exec = copy_of(keep ? kept : table);
  CHECK(cuGraphLaunch(exec, stream));
  CHECK(cuStreamSynchronize(stream));
  return exec;
}

// Runs on a stack of its own depth, so that the frames of other functions are where those of copy_of_variable() were.
static __attribute__((noinline)) void replay(CUgraphExec exec) {
  CHECK(cuGraphLaunch(exec, stream));  // REPLAY LINE
  CHECK(cuStreamSynchronize(stream));
}

static void copy_on_thread(CUcontext context, CUgraphExec* exec, bool replays) {
  CHECK(cuCtxSetCurrent(context));
  unsigned char table[kBytes] = {};
  *exec = copy_of(table);
  if (replays) replay(*exec);
}

int main(int, char** arguments) {
  const char* which = arguments[1];
  Driver driver;
  stream = driver.stream();
  device = driver.allocate(kBytes);
  if (is(which, "returned") || is(which, "kept")) {
    replay(copy_of_variable(is(which, "kept")));
  } else if (is(which, "in_use")) {
    unsigned char table[kBytes] = {};
    replay(copy_of(table));
  } else if (is(which, "thread_ended") || is(which, "thread_lives")) {
    CUgraphExec exec = nullptr;
    std::thread other(copy_on_thread, driver.context, &exec, is(which, "thread_lives"));
    other.join();
    if (is(which, "thread_ended")) replay(exec);
  } else if (is(which, "pinned") || is(which, "pinned_kept")) {
    void* block = nullptr;
    CHECK(cuMemHostAlloc(&block, kBytes, 0));
    CUgraphExec exec = copy_of(block);
    if (is(which, "pinned")) CHECK(cuMemFreeHost(block));  // FREED LINE
    if (is(which, "pinned_kept")) replay(exec);
    if (is(which, "pinned")) cuGraphLaunch(exec, stream);  // PINNED LINE
  }
  cuCtxSynchronize();
  std::puts("done");
}
