// Work that takes as many seconds as the second argument says. The program then continues and exits by itself. In
// variants whose names end in "_well", every wait is eventually satisfied.
#include <cuda.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <thread>

#include "spin.cuh"

__global__ void scale(int* p) { p[threadIdx.x] *= 2; }

static int* memory;
static unsigned* word;  // in host memory that the GPU can access
static CUdeviceptr word_on_gpu;
static cudaStream_t first, second;
static cudaEvent_t event;
static unsigned long long seconds;

static void warm_up() {
  for (cudaStream_t stream : {first, second}) scale<<<1, 32, 0, stream>>>(memory);
  cudaDeviceSynchronize();
}

// Writes the value that a stream waits for, after `seconds`.
static std::thread late_writer() {
  return std::thread([] {
    sleep(static_cast<unsigned>(seconds));
    *static_cast<volatile unsigned*>(word) = 1;
  });
}

static void kernel() {
  scale<<<1, 32, 0, first>>>(memory);
  spin<<<1, 64, 0, first>>>(memory, seconds * 1000000000);  // TRUE LINE kernel
  scale<<<1, 32, 0, first>>>(memory);
  cudaStreamSynchronize(first);  // BLAMED kernel
}

static void value() {
  std::thread writer = late_writer();
  scale<<<1, 32, 0, first>>>(memory);
  cuStreamWaitValue32(first, word_on_gpu, 1, CU_STREAM_WAIT_VALUE_EQ);  // TRUE LINE value
  scale<<<1, 32, 0, first>>>(memory);
  cudaDeviceSynchronize();  // BLAMED value
  writer.join();
}

static void other_stream() {
  spin<<<1, 64, 0, first>>>(memory, seconds * 1000000000);  // TRUE LINE other_stream
  cudaEventRecord(event, first);
  cudaStreamWaitEvent(second, event, 0);
  scale<<<1, 32, 0, second>>>(memory);
  cudaStreamSynchronize(second);  // BLAMED other_stream
}

static void host_copy() {
  int result = 0;
  spin<<<1, 64>>>(memory, seconds * 1000000000);                       // TRUE LINE host_copy
  cudaMemcpy(&result, memory, sizeof result, cudaMemcpyDeviceToHost);  // BLAMED host_copy
}

static void unfinished() { spin<<<1, 64, 0, first>>>(memory, seconds * 1000000000); }  // TRUE LINE unfinished

static void kernel_well() {
  for (int i = 0; i < 50; i++) spin<<<1, 64, 0, first>>>(memory, seconds * 20000000);
  cudaStreamSynchronize(first);
}

static void value_well() {
  cuStreamWaitValue32(first, word_on_gpu, 1, CU_STREAM_WAIT_VALUE_EQ);
  cuStreamWriteValue32(second, word_on_gpu, 1, 0);
  cudaDeviceSynchronize();
}

// The last operations on the stream have no marker, and the host does other work instead of waiting for them.
static void idle_well() {
  for (int i = 0; i < 21; i++) scale<<<1, 32, 0, first>>>(memory);
  sleep(static_cast<unsigned>(seconds));
  cudaDeviceSynchronize();
}

int main(int, char** argv) {
  seconds = std::strtoull(argv[2], nullptr, 10);
  cudaMalloc(&memory, 4096);
  cudaHostAlloc(&word, 4096, cudaHostAllocMapped);
  *word = 0;
  cudaHostGetDevicePointer(reinterpret_cast<void**>(&word_on_gpu), word, 0);
  cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking);
  cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  warm_up();
  const std::map<std::string, std::function<void()>> shapes = {
      {"kernel", kernel},         {"value", value},           {"other_stream", other_stream},
      {"host_copy", host_copy},   {"unfinished", unfinished}, {"kernel_well", kernel_well},
      {"value_well", value_well}, {"idle_well", idle_well}};
  shapes.at(argv[1])();  // BLAMED by a tail call
  std::printf("done\n");
  return 0;
}
