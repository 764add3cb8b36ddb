// Memory, streams, and kernels that finish on their own, shared by several programs.
#pragma once
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

// Converts seconds to ticks of clock64(). If SPIN_FACTOR is set, multiplies them by this number.
inline long long ticks(double seconds) {
  int kilohertz = 0;
  cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, 0);
  const char* factor = getenv("SPIN_FACTOR");
  return static_cast<long long>(seconds * 1000 * kilohertz * (factor == nullptr ? 1 : atof(factor)));
}

__global__ void busy(long long most) {
  for (long long start = clock64(); clock64() - start < most;) {
  }
}

// Waits until the word has the value; gives up after `most` ticks.
__device__ inline bool appears(const volatile int* word, int value, long long most) {
  for (long long start = clock64(); *word != value;) {  // SPINS
    if (clock64() - start > most) return false;         // SPINS
  }
  return true;
}

inline cudaStream_t new_stream() {
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  return stream;
}

inline cudaEvent_t new_event() {
  cudaEvent_t event;
  cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  return event;
}

// Returns zeroed memory. The zeros are in place when this returns.
template <typename T>
T* on_device(size_t elements) {
  T* memory;
  cudaMalloc(&memory, elements * sizeof(T));
  cudaMemset(memory, 0, elements * sizeof(T));
  cudaDeviceSynchronize();
  return memory;
}

// Returns device memory with the numbers from 0 to 99, again and again.
template <typename T>
T* numbered(size_t elements) {
  std::vector<T> numbers(elements);
  for (size_t i = 0; i < elements; ++i) numbers[i] = static_cast<T>(i % 100);
  T* memory = on_device<T>(elements);
  cudaMemcpy(memory, numbers.data(), elements * sizeof(T), cudaMemcpyHostToDevice);
  return memory;
}

template <typename T>
T* pinned(size_t elements) {
  T* memory;
  cudaMallocHost(&memory, elements * sizeof(T));
  for (size_t i = 0; i < elements; ++i) memory[i] = T(1);
  return memory;
}

// Returns host memory that kernels can read and write at the same address.
template <typename T>
T* mapped(size_t elements) {
  T* memory;
  cudaHostAlloc(&memory, elements * sizeof(T), cudaHostAllocMapped);
  for (size_t i = 0; i < elements; ++i) memory[i] = T(1);
  return memory;
}

// Returns what `issue` issues to the stream, as a graph that can be launched.
template <typename Issue>
cudaGraphExec_t captured(cudaStream_t stream, Issue issue) {
  cudaGraph_t graph;
  cudaGraphExec_t replay;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
  issue();
  cudaStreamEndCapture(stream, &graph);
  cudaGraphInstantiate(&replay, graph, 0);
  return replay;
}

// Returns the exit status for main: 0 if all work was done.
inline int finished() {
  const cudaError_t error = cudaDeviceSynchronize();
  puts(cudaGetErrorString(error));
  return error != cudaSuccess;
}
