// More threads exist than the recorder has room for. The thread without room changes a graph, runs a capture, frees
// another thread's memory, fails to free it, or destroys another thread's stream. Then a launch fails.
// Plan: fault kernel=scale nth=1 code=700
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "driver.h"

static constexpr int kRoom = 128;

class Gate {
 public:
  void arrive() {
    std::unique_lock lock(mutex_);
    ++arrived_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return open_; });
  }
  void wait_for(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return arrived_ == count; });
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int arrived_ = 0;
  bool open_ = false;
};

static CUgraph captured(CUfunction kernel, CUstream stream) {
  CUgraph graph = nullptr;
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  CHECK(LAUNCH(kernel, stream));
  CHECK(cuStreamEndCapture(stream, &graph));
  return graph;
}

int main(int, char** argv) {
  Driver driver;
  CUstream stream = driver.stream(), other = driver.stream();
  CUfunction fill = driver.kernel("fill"), scale = driver.kernel("scale");
  const auto is = [&](const char* what) { return std::strcmp(argv[1], what) == 0; };
  CUgraph graph = captured(fill, other);
  CUgraphExec exec = nullptr;
  CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  CUdeviceptr memory = driver.allocate(4096);
  Gate gate;
  std::vector<std::thread> threads;
  for (int i = 1; i < kRoom; ++i) {
    threads.emplace_back([&] {
      CHECK(cuCtxSetCurrent(driver.context));
      gate.arrive();
    });
  }
  gate.wait_for(kRoom - 1);
  const auto elsewhere = [&](auto work) {
    std::thread([&] {
      CHECK(cuCtxSetCurrent(driver.context));
      work();
    }).join();
  };
  if (is("graph")) {
    elsewhere([&] {
      CUgraphExecUpdateResultInfo info;
      CHECK(cuGraphExecUpdate(exec, captured(scale, other), &info));
    });
    CHECK(cuGraphLaunch(exec, stream));  // TRUE LINE graph
  } else if (is("capture")) {
    elsewhere([&] { CHECK(cuStreamBeginCapture(other, CU_STREAM_CAPTURE_MODE_RELAXED)); });
    for (int i = 0; i < 3; ++i) CHECK(LAUNCH(fill, other));
    elsewhere([&] { CHECK(cuStreamEndCapture(other, &graph)); });
  } else if (is("refused")) {
    CHECK(cuStreamBeginCapture(other, CU_STREAM_CAPTURE_MODE_GLOBAL));
    elsewhere([&] {
      if (cuMemFree(memory) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) std::puts("refused");
    });
    cuStreamEndCapture(other, &graph);
  } else if (is("stream")) {
    for (int i = 0; i < 20; ++i) CHECK(LAUNCH(fill, other));
    elsewhere([&] { CHECK(cuStreamDestroy(other)); });
  } else {
    elsewhere([&] { CHECK(cuMemFree(memory)); });
  }
  if (!is("graph")) LAUNCH(scale, stream);  // TRUE LINE
  CHECK(cuStreamSynchronize(stream));       // REPORTED LINE
  gate.open();
  for (std::thread& thread : threads) thread.join();
}
