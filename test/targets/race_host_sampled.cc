// The host fills pinned memory again, in several ways, after it may: `race_host_sampled WHICH`. Or too early: `again`,
// `device_kernel`, `thread`, `second`.
// Plan: hold kernel=slow until=notify; hold kernel=late until=stream:2:1; fail api=cuMemFreeHost code=1
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>

#include "driver.h"

extern "C" void sim_notify();

constexpr std::size_t kBytes = 60'000;

struct Work {
  Driver driver{};
  CUstream stream = driver.stream();
  CUevent event = nullptr;
  CUdeviceptr device = driver.allocate(kBytes);
  unsigned char* source = nullptr;
  CUfunction slow = driver.kernel("slow");

  Work() {
    CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    CHECK(cuMemHostAlloc(reinterpret_cast<void**>(&source), kBytes, 0));  // ALLOCATED LINE
    std::memset(source, 1, kBytes);
    CHECK(cuCtxSynchronize());
  }
  void copy() {
    CHECK(cuMemcpyHtoDAsync(device, source, kBytes, stream));  // COPY LINE
    CHECK(cuEventRecord(event, stream));
  }
  void fill() { std::memset(source + 100, 2, 1000); }
  // A call while the copy is pending.
  void query() { CHECK(cuEventQuery(event) == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN); }
};

static void again(Work& work) {
  LAUNCH(work.slow, work.stream);
  work.copy();
  work.fill();
  work.query();
  sim_notify();
}

// A kernel that has an address is unfinished. If the address is of host memory, the kernel may write it or wait for it.
static void after_kernel(Work& work, CUdeviceptr address) {
  void* parameters[] = {&address};
  LAUNCH(work.slow, work.stream);
  CHECK(cuLaunchKernel(work.driver.kernel("gets__8"), 1, 1, 1, 32, 1, 1, 0, work.stream, parameters, nullptr));
  work.copy();
  work.fill();
  work.query();
  sim_notify();
}

static void device_kernel(Work& work) { after_kernel(work, work.device); }

static CUdeviceptr host_words() {
  void* words = nullptr;
  CHECK(cuMemHostAlloc(&words, 64, CU_MEMHOSTALLOC_WRITECOMBINED));
  return reinterpret_cast<CUdeviceptr>(words);
}

static void host_kernel(Work& work) { after_kernel(work, host_words()); }

static void before_words(Work& work) { after_kernel(work, host_words() - sizeof(int)); }

static void after_words(Work& work) { after_kernel(work, host_words() + 64); }

static void not_freed(Work& work) {
  const CUdeviceptr words = host_words();
  CHECK(cuMemFreeHost(reinterpret_cast<void*>(words)) == CUDA_SUCCESS ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS);
  after_kernel(work, words);
}

// Later kernels may have the address of host memory, too.
static void kept_by_kernel(Work& work) {
  CUdeviceptr address = host_words();
  void* parameters[] = {&address};
  CHECK(cuLaunchKernel(work.driver.kernel("gets__8"), 1, 1, 1, 32, 1, 1, 0, work.stream, parameters, nullptr));
  CHECK(cuCtxSynchronize());
  again(work);
}

static void kept_by_copy(Work& work) {
  const CUdeviceptr addresses[] = {0, host_words()};
  CHECK(cuMemcpyHtoD(work.device, addresses, sizeof addresses));
  CHECK(cuCtxSynchronize());
  again(work);
}

// The address follows a header of 4 bytes.
static void kept_by_header(Work& work) {
  alignas(8) char message[12] = {};
  const CUdeviceptr address = host_words();
  std::memcpy(message + 4, &address, sizeof address);
  CHECK(cuMemcpyHtoD(work.device, message, sizeof message));
  CHECK(cuCtxSynchronize());
  again(work);
}

static void kept_by_rows(Work& work) {
  const CUdeviceptr addresses[2][4] = {{}, {host_words()}};
  CUDA_MEMCPY2D rows{};
  rows.srcMemoryType = CU_MEMORYTYPE_HOST, rows.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  rows.srcHost = addresses, rows.dstDevice = work.device;
  rows.srcPitch = sizeof addresses[0], rows.WidthInBytes = rows.dstPitch = 16, rows.Height = 2;
  CHECK(cuMemcpy2DAsync(&rows, work.stream));
  CHECK(cuCtxSynchronize());
  again(work);
}

// A kernel waits for memory of the GPU, which work of another stream writes once the host has filled the source.
static void released(Work& work) {
  CUstream other = work.driver.stream();
  LAUNCH(work.driver.kernel("late"), work.stream);
  work.copy();
  work.fill();
  work.query();
  CHECK(cuMemsetD8Async(work.device, 1, 1, other));
}

// A kernel of another stream may wait for the end of the copy, and show it to the host.
static void observed(Work& work) {
  LAUNCH(work.slow, work.driver.stream());
  again(work);
}

static void nccl(Work& work) {
  LAUNCH(work.driver.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL"), work.stream);
  again(work);
}

// Memory that may be shared with another process.
static void shareable(Work& work) {
  CUmemGenericAllocationHandle made = 0;
  CUmemAllocationProp how = {};
  how.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  how.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
  CHECK(cuMemCreate(&made, 2u << 20, &how, 0));
  again(work);
}

static void thread(Work& work) {
  LAUNCH(work.slow, work.stream);
  work.copy();
  std::thread([&] { work.fill(); }).join();
  work.query();
  sim_notify();
}

static void second(Work& work) {
  for (int i = 0; i < 2; ++i) {
    if (i == 1) LAUNCH(work.slow, work.stream);
    work.copy();
    if (i == 0) CHECK(cuStreamSynchronize(work.stream));
    work.fill();
    work.source[0] = static_cast<unsigned char>(i + 5);
  }
  work.query();
  sim_notify();
}

static void waited(Work& work) {
  for (int i = 0; i < 3; ++i) {
    work.copy();
    CHECK(cuStreamSynchronize(work.stream));
    std::memset(work.source, i, kBytes);
  }
}

static void queried(Work& work) {
  LAUNCH(work.slow, work.stream);
  work.copy();
  work.query();
  sim_notify();
  while (cuEventQuery(work.event) == CUDA_ERROR_NOT_READY) std::this_thread::yield();
  work.fill();
}

// Later work of the stream has not finished when the memory is filled.
static void event(Work& work) {
  work.copy();
  LAUNCH(work.slow, work.stream);
  CHECK(cuEventSynchronize(work.event));
  work.fill();
  CHECK(cuEventRecord(work.event, work.stream));
  sim_notify();
}

static void two_buffers(Work& work) {
  unsigned char* sources[] = {work.source, nullptr};
  CUevent events[] = {work.event, nullptr};
  CHECK(cuMemHostAlloc(reinterpret_cast<void**>(&sources[1]), kBytes, 0));
  CHECK(cuEventCreate(&events[1], CU_EVENT_DISABLE_TIMING));
  for (int i = 0; i < 8; ++i) {
    work.source = sources[i % 2], work.event = events[i % 2];
    CHECK(cuEventSynchronize(work.event));
    std::memset(work.source, i, kBytes);
    work.copy();
  }
}

// Runs the steps in another thread, which ends only after the next call of this thread.
template <typename Steps>
static void in_other_thread(Work& work, const Steps& steps) {
  std::atomic<int> turn = 0;
  std::thread other([&] {
    CHECK(cuCtxSetCurrent(work.driver.context));
    steps();
    turn = 1;
    while (turn != 2) std::this_thread::yield();
  });
  while (turn != 1) std::this_thread::yield();
  CHECK(cuEventRecord(work.event, work.stream));
  turn = 2;
  other.join();
}

static void other_thread(Work& work) {
  work.copy();
  LAUNCH(work.slow, work.stream);
  in_other_thread(work, [&] {
    CHECK(cuEventSynchronize(work.event));
    work.fill();
  });
  sim_notify();
}

// The stream that takes the place of the copy's stream is busy.
static void other_stream(Work& work) {
  LAUNCH(work.slow, work.stream);
  work.copy();
  in_other_thread(work, [&] {
    sim_notify();
    CHECK(cuStreamSynchronize(work.stream));
    CHECK(cuStreamDestroy(work.stream));
    for (int i = 0; i < 300; ++i) {
      work.stream = work.driver.stream();
      LAUNCH(work.slow, work.stream);
    }
    work.fill();
  });
}

struct Signal {
  std::mutex mutex;
  std::condition_variable condition;
  bool given = false;
};

static void CUDA_CB give(void* data) {
  auto& signal = *static_cast<Signal*>(data);
  const std::lock_guard<std::mutex> lock(signal.mutex);
  signal.given = true;
  signal.condition.notify_one();
}

static void told(Work& work) {
  Signal signal;
  work.copy();
  CHECK(cuLaunchHostFunc(work.stream, give, &signal));
  LAUNCH(work.slow, work.stream);
  std::unique_lock<std::mutex> lock(signal.mutex);
  signal.condition.wait(lock, [&] { return signal.given; });
  work.fill();
  CHECK(cuEventRecord(work.event, work.stream));
  sim_notify();
}

// The copy waits for the host, which fills the memory first.
static void late(Work& work) {
  unsigned* word = nullptr;
  CHECK(cuMemHostAlloc(reinterpret_cast<void**>(&word), sizeof *word, CU_MEMHOSTALLOC_DEVICEMAP));
  *word = 0;
  CHECK(cuStreamWaitValue32(work.stream, reinterpret_cast<CUdeviceptr>(word), 1, CU_STREAM_WAIT_VALUE_EQ));
  work.copy();
  work.fill();
  work.query();
  CUstream other = work.driver.stream();
  CHECK(cuStreamWriteValue32(other, reinterpret_cast<CUdeviceptr>(word), 1, 0));
}

static void CUDA_CB fill(void* source) { std::memset(source, 9, kBytes); }

// Work in the stream fills `filled` for the copy that follows. The host sees the result before the copy begins.
static void filled_in_stream(Work& work, bool by_function, void* filled) {
  CUstream other = work.driver.stream();
  LAUNCH(work.slow, work.stream);
  if (by_function) {
    CHECK(cuLaunchHostFunc(work.stream, fill, filled));
  } else {
    CHECK(cuMemsetD8Async(work.device, 9, kBytes, work.stream));
    CHECK(cuMemcpyDtoHAsync(filled, work.device, kBytes, work.stream));
  }
  LAUNCH(work.driver.kernel("late"), work.stream);
  work.copy();
  sim_notify();
  const volatile unsigned char* last = work.source + kBytes - 1;
  while (*last != 9) std::this_thread::yield();
  work.query();
  LAUNCH(work.driver.kernel("free"), other);
}

static void written(Work& work) { filled_in_stream(work, false, work.source); }

static void filled_by_function(Work& work) { filled_in_stream(work, true, work.source); }

// The source has a second address.
static void mapped_twice(Work& work) {
  const int file = memfd_create("source", 0);
  CHECK(ftruncate(file, kBytes) == 0 ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN);
  void* addresses[2];
  for (void*& address : addresses) {
    address = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    CHECK(cuMemHostRegister(address, kBytes, 0));
  }
  work.source = static_cast<unsigned char*>(addresses[0]);
  filled_in_stream(work, false, addresses[1]);
}

int main(int, char** arguments) {
  const struct {
    const char* name;
    void (*run)(Work&);
  } all[] = {{"again", again},
             {"device_kernel", device_kernel},
             {"host_kernel", host_kernel},
             {"before_words", before_words},
             {"after_words", after_words},
             {"not_freed", not_freed},
             {"kept_by_kernel", kept_by_kernel},
             {"kept_by_copy", kept_by_copy},
             {"kept_by_header", kept_by_header},
             {"kept_by_rows", kept_by_rows},
             {"released", released},
             {"observed", observed},
             {"nccl", nccl},
             {"shareable", shareable},
             {"mapped_twice", mapped_twice},
             {"thread", thread},
             {"second", second},
             {"waited", waited},
             {"queried", queried},
             {"event", event},
             {"two_buffers", two_buffers},
             {"other_thread", other_thread},
             {"other_stream", other_stream},
             {"told", told},
             {"late", late},
             {"written", written},
             {"filled_by_function", filled_by_function}};
  Work work;
  for (const auto& each : all) {
    if (std::strcmp(arguments[1], each.name) == 0) each.run(work);
  }
  CHECK(cuCtxSynchronize());
  std::puts("done");
}
