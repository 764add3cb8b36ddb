// Usage: races SCRIPT CUBIN. Runs a script with one step per line. Each step belongs to one of several threads, which
// take turns. Each operation on memory is issued from its own source line, as in a real program. Prints where the
// memory is, and the result of each query.
#include <condition_variable>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "driver.h"

extern "C" {
CUresult cuMemcpy_ptds(CUdeviceptr, CUdeviceptr, std::size_t);
CUresult cuMemcpyDtoD_v2_ptds(CUdeviceptr, CUdeviceptr, std::size_t);
CUresult cuMemcpyDtoH_v2_ptds(void*, CUdeviceptr, std::size_t);
CUresult cuMemcpyHtoD_v2_ptds(CUdeviceptr, const void*, std::size_t);
CUresult cuMemsetD8_v2_ptds(CUdeviceptr, unsigned char, std::size_t);
}

namespace {

// Fields that a step does not need are 0. A negative stream number means a default stream.
struct Step {
  unsigned thread = 0, place = 0;
  std::string what;
  int stream = 0;
  unsigned to = 0, to_offset = 0, from = 0, from_offset = 0, bytes = 0;
};

void CUDA_CB nothing(void*) {}
void CUDA_CB nothing_of(CUstream, CUresult, void*) {}

void* host(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

// Makes a call on the default stream, for steps that end in "_now". If `own` is set, uses the call's per-thread
// variant, whose default stream belongs to the thread.
#define NOW(call, ...) (own ? call##_ptds(__VA_ARGS__) : call(__VA_ARGS__))
#define PLACE(n)                                                                       \
  case n:                                                                              \
    return what == "set"            ? cuMemsetD8Async(to, 1, bytes, stream)            \
           : what == "set_words"    ? cuMemsetD32Async(to, 1, bytes / 4, stream)       \
           : what == "copy"         ? cuMemcpyAsync(to, from, bytes, stream)           \
           : what == "copy_on"      ? cuMemcpyDtoDAsync(to, from, bytes, stream)       \
           : what == "copy_out"     ? cuMemcpyDtoHAsync(host(to), from, bytes, stream) \
           : what == "copy_in"      ? cuMemcpyHtoDAsync(to, host(from), bytes, stream) \
           : what == "allocate"     ? cuMemAllocAsync(&memory[step.to], bytes, stream) \
           : what == "free"         ? cuMemFreeAsync(to, stream)                       \
           : what == "set_now"      ? NOW(cuMemsetD8_v2, to, 1, bytes)                 \
           : what == "copy_now"     ? NOW(cuMemcpy, to, from, bytes)                   \
           : what == "copy_on_now"  ? NOW(cuMemcpyDtoD_v2, to, from, bytes)            \
           : what == "copy_out_now" ? NOW(cuMemcpyDtoH_v2, host(to), from, bytes)      \
           : what == "copy_in_now"                                                     \
               ? NOW(cuMemcpyHtoD_v2, to, host(from), bytes)                           \
               : cuLaunchKernel(kernels.at(what), 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr)

struct Script : Driver {
  CUstream stream_of(int number) {
    const CUstream defaults[] = {CU_STREAM_PER_THREAD, CU_STREAM_LEGACY, nullptr};
    return number < 0 ? defaults[number + 3] : streams[number];
  }

  CUresult use(const Step& step) {
    const std::string& what = step.what;
    CUstream stream = stream_of(step.stream);
    CUdeviceptr to = memory[step.to] + step.to_offset, from = memory[step.from] + step.from_offset;
    const std::size_t bytes = step.bytes;
    const bool own = step.stream == -3;
    void* parameters[] = {&to, &from};
    switch (step.place) {
      PLACE(1);
      PLACE(2);
      PLACE(3);
      PLACE(4);
      PLACE(5);
      PLACE(6);
      PLACE(7);
      PLACE(8);
      PLACE(9);
      PLACE(10);
      PLACE(11);
      PLACE(12);
      PLACE(13);
      PLACE(14);
      PLACE(15);
      PLACE(16);
      PLACE(17);
      PLACE(18);
      PLACE(19);
      PLACE(20);
      PLACE(21);
      PLACE(22);
      PLACE(23);
      PLACE(24);
      PLACE(25);
      PLACE(26);
      PLACE(27);
      PLACE(28);
      PLACE(29);
      PLACE(30);
      PLACE(31);
      PLACE(32);
      PLACE(33);
      PLACE(34);
      PLACE(35);
      PLACE(36);
      PLACE(37);
      PLACE(38);
      PLACE(39);
      PLACE(40);
      PLACE(41);
      PLACE(42);
      PLACE(43);
      PLACE(44);
      PLACE(45);
      PLACE(46);
      PLACE(47);
      PLACE(48);
      PLACE(49);
      PLACE(50);
      PLACE(51);
      PLACE(52);
      PLACE(53);
      PLACE(54);
      PLACE(55);
      PLACE(56);
      PLACE(57);
      PLACE(58);
      PLACE(59);
      PLACE(60);
      PLACE(61);
      PLACE(62);
      PLACE(63);
      PLACE(64);
    }
    return CUDA_ERROR_INVALID_VALUE;
  }

  void ask(std::size_t number, CUresult answer) {
    const bool over = answer != CUDA_ERROR_NOT_READY;
    if (over) CHECK(answer);
    std::printf("asked %zu %d\n", number, over);
  }

  void order(std::size_t number, const Step& step) {
    const std::string& what = step.what;
    CUstream stream = stream_of(step.stream);
    CUevent& event = events[step.to];
    void* place = nullptr;
    float milliseconds = 0;
    if (what == "stream") CHECK(cuStreamCreate(&streams[step.stream], step.to));
    if (what == "stream_gone") CHECK(cuStreamDestroy(stream));
    if (what == "event") CHECK(cuEventCreate(&event, CU_EVENT_DEFAULT));
    if (what == "event_gone") CHECK(cuEventDestroy(event));
    if (what == "record") CHECK(cuEventRecord(event, stream));
    if (what == "wait") CHECK(cuStreamWaitEvent(stream, event, 0));
    if (what == "see_stream") CHECK(cuStreamSynchronize(stream));
    if (what == "see_event") CHECK(cuEventSynchronize(event));
    if (what == "see_context") CHECK(cuCtxSynchronize());
    if (what == "ask_stream") ask(number, cuStreamQuery(stream));
    if (what == "ask_event") ask(number, cuEventQuery(event));
    if (what == "ask_time") ask(number, cuEventElapsedTime(&milliseconds, event, events[step.from]));
    if (what == "function") CHECK(cuLaunchHostFunc(stream, nothing, nullptr));
    if (what == "callback") CHECK(cuStreamAddCallback(stream, nothing_of, nullptr, 0));
    if (what == "write_word") CHECK(cuStreamWriteValue32(stream, memory[step.to], step.bytes, 0));
    if (what == "wait_word") CHECK(cuStreamWaitValue32(stream, memory[step.to], step.bytes, CU_STREAM_WAIT_VALUE_GEQ));
    if (what == "capture") CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    if (what == "captured") {
      CUgraph graph = nullptr;
      CHECK(cuStreamEndCapture(stream, &graph));
      CHECK(cuGraphInstantiate(&graphs[step.to], graph, 0));
    }
    if (what == "graph_gone") CHECK(cuGraphExecDestroy(graphs[step.to]));
    if (what == "launch") CHECK(cuGraphLaunch(graphs[step.to], stream));
    if (what == "memory") CHECK(cuMemAlloc(&memory[step.to], step.bytes));
    if (what == "memory_gone") CHECK(cuMemFree(memory[step.to]));
    if (what == "pinned") {
      CHECK(cuMemHostAlloc(&place, step.bytes, 0));
      memory[step.to] = reinterpret_cast<CUdeviceptr>(place);
    }
    if (what == "pageable") memory[step.to] = reinterpret_cast<CUdeviceptr>(std::malloc(step.bytes));
  }

  void run(std::size_t number, const Step& step) {
    if (step.place == 0) order(number, step);
    if (step.place != 0) CHECK(use(step));
    const bool made = step.what == "memory" || step.what == "pinned" || step.what == "allocate";
    if (made) std::printf("memory %u %llu\n", step.to, memory[step.to]);
  }

  std::map<int, CUstream> streams;
  std::map<unsigned, CUevent> events;
  std::map<unsigned, CUgraphExec> graphs;
  std::map<unsigned, CUdeviceptr> memory;
  std::map<std::string, CUfunction> kernels;
};

// Each thread waits for its turn. Everything that a thread has issued or seen therefore comes before the next thread's
// step.
void take_turns(Script& script, const std::vector<Step>& steps, unsigned thread) {
  static std::mutex mutex;
  static std::condition_variable turned;
  static std::size_t next = 0;
  CHECK(cuCtxSetCurrent(script.context));
  std::unique_lock lock(mutex);
  for (;;) {
    turned.wait(lock, [&] { return next == steps.size() || steps[next].thread == thread; });
    if (next == steps.size()) return;
    script.run(next, steps[next]);
    ++next;
    turned.notify_all();
  }
}

}  // namespace

int main(int, char** arguments) {
  std::ifstream file(arguments[1]), code(arguments[2], std::ios::binary);
  std::vector<Step> steps;
  for (Step s; file >> s.thread >> s.what >> s.place >> s.stream >> s.to >> s.to_offset >> s.from >> s.from_offset >>
               s.bytes;) {
    steps.push_back(s);
  }
  Script script;
  const std::string image(std::istreambuf_iterator<char>(code), {});
  CHECK(cuModuleLoadData(&script.module, image.data()));
  for (const char* name : {"write__8", "count__8", "copy__8_8"}) script.kernels[name] = script.kernel(name);
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 3; ++i) threads.emplace_back([&, i] { take_turns(script, steps, i); });
  for (std::thread& thread : threads) thread.join();
  CHECK(cuCtxSynchronize());
  std::puts("done");
}
