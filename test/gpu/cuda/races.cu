// Pairs of operations on two streams. `races WHICH` leaves them unordered, and `races WHICH fixed` orders them.
// races.py lists the pairs that have no race in either case.
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>

#include "spin.cuh"

struct View {
  long n;
  float* data;
};

__global__ void put(float* to, float value) { to[threadIdx.x] = value; }
__global__ void take(float* to, const float* from) { to[threadIdx.x] = from[threadIdx.x]; }
__global__ void put_view(View view) { view.data[threadIdx.x] = 2; }
__global__ void count(int* to) { atomicAdd(to, 1); }

static constexpr int kFloats = 1 << 16, kBytes = 4 * kFloats;

struct World {
  cudaStream_t a, b;
  cudaEvent_t event;
  float *x, *y, *pinned;
  bool fixed;

  explicit World(bool is_fixed) : fixed(is_fixed) {
    cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    cudaMalloc(&x, kBytes);
    cudaMalloc(&y, kBytes);
    cudaMallocHost(&pinned, kBytes);
  }
  // Makes stream `b` wait for everything queued on stream `a` so far.
  void hand_over(bool really) const {
    if (!really) return;
    cudaEventRecord(event, a);
    cudaStreamWaitEvent(b, event, 0);
  }
  void hand_back(bool really) const {
    if (!really) return;
    cudaEventRecord(event, b);
    cudaStreamWaitEvent(a, event, 0);
  }
};

static cudaGraphExec_t graph_that_puts(const World& w) {
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaStreamBeginCapture(w.a, cudaStreamCaptureModeThreadLocal);
  put<<<1, 32, 0, w.a>>>(w.x, 1);
  cudaStreamEndCapture(w.a, &graph);
  cudaGraphInstantiate(&exec, graph, 0);
  return exec;
}

static void branches(const World& w) {
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaEvent_t end;
  cudaEventCreateWithFlags(&end, cudaEventDisableTiming);
  cudaStreamBeginCapture(w.a, cudaStreamCaptureModeThreadLocal);
  if (!w.fixed) w.hand_over(true);
  put<<<1, 32, 0, w.a>>>(w.x, 1);
  if (w.fixed) w.hand_over(true);
  take<<<1, 32, 0, w.b>>>(w.y, w.x);
  cudaEventRecord(end, w.b);
  cudaStreamWaitEvent(w.a, end, 0);
  cudaStreamEndCapture(w.a, &graph);
  cudaGraphInstantiate(&exec, graph, 0);
  cudaGraphLaunch(exec, w.a);
}

static void columns(const World& w) {
  cudaMemset2DAsync(w.x, 1024, 1, 512, 64, w.a);
  cudaMemset2DAsync(reinterpret_cast<char*>(w.x) + (w.fixed ? 512 : 508), 1024, 2, 512, 64, w.b);
}

static void double_buffer(const World& w) {
  cudaEvent_t done[2];
  for (auto& event : done) cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  float* buffers[2] = {w.x, w.y};
  float* out;
  cudaMalloc(&out, kBytes);
  for (int i = 0; i < 6; ++i) {
    if (i >= 2 && w.fixed) cudaStreamWaitEvent(w.a, done[i % 2], 0);
    cudaMemcpyAsync(buffers[i % 2], w.pinned, kBytes, cudaMemcpyHostToDevice, w.a);
    w.hand_over(true);
    take<<<1, 32, 0, w.b>>>(out, buffers[i % 2]);
    cudaEventRecord(done[i % 2], w.b);
  }
}

static void ring(const World& w) {
  cudaStream_t streams[4];
  cudaEvent_t passed;
  cudaEventCreateWithFlags(&passed, cudaEventDisableTiming);
  for (auto& stream : streams) cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  for (int i = 0; i < 12; ++i) {
    if (i > 0 && (w.fixed || i != 7)) cudaStreamWaitEvent(streams[i % 4], passed, 0);
    put<<<1, 32, 0, streams[i % 4]>>>(w.x, 1);
    cudaEventRecord(passed, streams[i % 4]);
  }
}

static void ordered_memory(const World& w, bool free_early) {
  float* memory;
  cudaMallocAsync(&memory, kBytes, w.a);
  w.hand_over(w.fixed || free_early);
  put<<<1, 32, 0, w.b>>>(memory, 1);
  w.hand_back(w.fixed || !free_early);
  cudaFreeAsync(memory, w.a);
}

static void default_stream(const World& w) {
  cudaStream_t other;
  cudaStreamCreateWithFlags(&other, w.fixed ? cudaStreamDefault : cudaStreamNonBlocking);
  put<<<1, 32>>>(w.x, 1);
  take<<<1, 32, 0, other>>>(w.y, w.x);
}

static void two_threads(const World& w) {
  std::thread([&] {
    put<<<1, 32, 0, w.a>>>(w.x, 1);
    if (w.fixed) cudaStreamSynchronize(w.a);
  }).join();
  take<<<1, 32, 0, w.b>>>(w.y, w.x);
}

static void simple(const World& w, const std::string& which) {
  if (which == "write_read") {
    put<<<1, 32, 0, w.a>>>(w.x, 1);
    w.hand_over(w.fixed);
    take<<<1, 32, 0, w.b>>>(w.y, w.x);
  } else if (which == "read_write") {
    take<<<1, 32, 0, w.a>>>(w.y, w.x);
    w.hand_over(w.fixed);
    put<<<1, 32, 0, w.b>>>(w.x, 1);
  } else if (which == "write_write") {
    put<<<1, 32, 0, w.a>>>(w.x, 1);
    if (w.fixed) cudaStreamSynchronize(w.a);
    put<<<1, 32, 0, w.b>>>(w.x, 2);
  } else if (which == "copy_in") {
    cudaMemcpyAsync(w.x, w.pinned, kBytes, cudaMemcpyHostToDevice, w.a);
    if (w.fixed) cudaDeviceSynchronize();
    take<<<1, 32, 0, w.b>>>(w.y, w.x + 128);
  } else if (which == "copy_out") {
    put<<<1, 32, 0, w.a>>>(w.x, 1);
    w.hand_over(w.fixed);
    cudaMemcpyAsync(w.pinned, w.x, kBytes, cudaMemcpyDeviceToHost, w.b);
  } else if (which == "memset") {
    cudaMemsetAsync(w.x, 0, kBytes, w.a);
    w.hand_over(w.fixed);
    take<<<1, 32, 0, w.b>>>(w.y, w.x);
  } else if (which == "event_too_early") {
    if (!w.fixed) cudaEventRecord(w.event, w.a);
    put<<<1, 32, 0, w.a>>>(w.x, 1);
    if (w.fixed) cudaEventRecord(w.event, w.a);
    cudaStreamWaitEvent(w.b, w.event, 0);
    take<<<1, 32, 0, w.b>>>(w.y, w.x);
  } else if (which == "structure") {
    put_view<<<1, 32, 0, w.a>>>(View{32, w.x});
    w.hand_over(w.fixed);
    take<<<1, 32, 0, w.b>>>(w.y, w.x);
  } else if (which == "managed") {
    float* memory;
    cudaMallocManaged(&memory, kBytes);
    put<<<1, 32, 0, w.a>>>(memory, 1);
    w.hand_over(w.fixed);
    take<<<1, 32, 0, w.b>>>(w.y, memory);
  } else if (which == "graph_and_kernel") {
    cudaGraphLaunch(graph_that_puts(w), w.a);
    w.hand_over(w.fixed);
    take<<<1, 32, 0, w.b>>>(w.y, w.x);
  } else if (which == "atomics") {
    count<<<1, 32, 0, w.a>>>(reinterpret_cast<int*>(w.x));
    count<<<1, 32, 0, w.b>>>(reinterpret_cast<int*>(w.x));
  } else if (which == "slices") {
    put<<<1, 32, 0, w.a>>>(w.x, 1);
    put<<<1, 32, 0, w.b>>>(w.x + kFloats / 2, 1);
    cudaMemsetAsync(w.y, 0, kBytes / 2, w.a);
    cudaMemsetAsync(w.y + kFloats / 2, 0, kBytes / 2, w.b);
  } else if (which == "readers") {
    float* out;
    cudaMalloc(&out, kBytes);
    take<<<1, 32, 0, w.a>>>(w.y, w.x);
    take<<<1, 32, 0, w.b>>>(out, w.x);
  }
}

int main(int argc, char** argv) {
  const std::string which = argv[1];
  const World w(argc > 2 && std::string(argv[2]) == "fixed");
  if (which == "branches") branches(w);
  if (which == "columns") columns(w);
  if (which == "double_buffer") double_buffer(w);
  if (which == "ring") ring(w);
  if (which == "used_before_allocated") ordered_memory(w, false);
  if (which == "freed_in_use") ordered_memory(w, true);
  if (which == "default_stream") default_stream(w);
  if (which == "two_threads") two_threads(w);
  simple(w, which);
  const cudaError_t error = cudaDeviceSynchronize();
  std::printf("%s\n", cudaGetErrorName(error));
  return error != cudaSuccess;
}
