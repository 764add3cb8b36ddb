// Programs on two GPUs. "second": a bad kernel on the second GPU, while the first keeps working. "unasked": the same,
// but no call asks the second GPU for errors: a copy from it succeeds. "threads": one thread per GPU, and one of them
// fails. "peer": a kernel loads from the other GPU's memory after its access was revoked. "stream": a launch into the
// other GPU's stream, with memory of this GPU. "copy": a copy between two GPUs, from memory that was never allocated.
// "well": peers exchange what they computed; access is requested twice, and the second request is expected to fail.
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <thread>

#include "spin.cuh"

constexpr int kCells = 1 << 20, kBytes = kCells * sizeof(float);

__global__ void fill(float* cells, float value) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kCells) cells[i] = value;
}

__global__ void add(float* sum, const float* other, size_t offset) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kCells) sum[i] += other[i + offset];
}

constexpr size_t kFar = 1ull << 38;
static float *here, *there;
static cudaStream_t first, second;
static cudaError_t ended;

static void on(int device) { cudaSetDevice(device); }

static void work_on_both() {
  on(0);
  for (int i = 0; i < 20; i++) fill<<<kCells / 256, 256, 0, first>>>(here, 1);
  on(1);
  for (int i = 0; i < 4; i++) fill<<<kCells / 256, 256, 0, second>>>(there, 2);
  add<<<kCells / 256, 256, 0, second>>>(there, there, kFar);  // TRUE LINE second, TRUE LINE unasked
  on(0);
  for (int i = 0; i < 20; i++) add<<<kCells / 256, 256, 0, first>>>(here, here, 0);
  ended = cudaStreamSynchronize(first);
}

static void second_gpu() {
  work_on_both();
  on(1);
  ended = cudaStreamSynchronize(second);  // BLAMED second
}

static void unasked() {
  work_on_both();
  ended = cudaMemcpyPeer(here, 0, there, 1, kBytes);
}

static void threads() {
  cudaError_t each[2];
  auto work = [&](int device, cudaStream_t stream, float* cells, size_t bad) {
    on(device);
    for (int step = 0; step < 50; step++) {
      fill<<<kCells / 256, 256, 0, stream>>>(cells, 1);
      add<<<kCells / 256, 256, 0, stream>>>(cells, cells, step == 30 ? bad : 0);  // TRUE LINE threads
    }
    each[device] = cudaStreamSynchronize(stream);  // BLAMED threads
  };
  std::thread one(work, 0, first, here, 0), other(work, 1, second, there, kFar);
  one.join();
  other.join();
  ended = each[0] ? each[0] : each[1];
}

static void peer() {
  on(0);
  cudaDeviceEnablePeerAccess(1, 0);
  add<<<kCells / 256, 256, 0, first>>>(here, there, 0);
  cudaStreamSynchronize(first);
  cudaDeviceDisablePeerAccess(1);
  fill<<<kCells / 256, 256, 0, first>>>(here, 0);
  add<<<kCells / 256, 256, 0, first>>>(here, there, 0);  // TRUE LINE peer
  fill<<<kCells / 256, 256, 0, first>>>(here, 1);
  ended = cudaStreamSynchronize(first);  // BLAMED peer
}

static void copy() {
  on(0);
  fill<<<kCells / 256, 256, 0, first>>>(here, 1);
  float* nobody = there + kFar;
  ended = cudaMemcpyPeerAsync(here, 0, nobody, 1, kBytes, first);  // TRUE LINE copy
  if (!ended) ended = cudaStreamSynchronize(first);                // BLAMED copy
}

static void stream() {
  on(0);
  fill<<<kCells / 256, 256, 0, second>>>(here, 1);  // TRUE LINE stream
  ended = cudaStreamSynchronize(second);            // BLAMED stream
}

static void well() {
  for (int device = 0; device < 2; device++) {
    on(device);
    cudaError_t once = cudaDeviceEnablePeerAccess(1 - device, 0), again = cudaDeviceEnablePeerAccess(1 - device, 0);
    if (once != cudaSuccess || again != cudaErrorPeerAccessAlreadyEnabled) throw once;
    if (cudaGetLastError() != again) throw cudaErrorUnknown;
  }
  cudaEvent_t filled;
  cudaEventCreateWithFlags(&filled, cudaEventDisableTiming);
  for (int step = 0; step < 20; step++) {
    on(1);
    fill<<<kCells / 256, 256, 0, second>>>(there, 2);
    cudaEventRecord(filled, second);
    on(0);
    cudaStreamWaitEvent(first, filled, 0);
    add<<<kCells / 256, 256, 0, first>>>(here, there, 0);
    cudaMemcpyPeerAsync(there, 1, here, 0, kBytes, first);
    if (cudaError_t e = cudaStreamSynchronize(first)) throw e;
  }
}

int main(int, char** argv) {
  int devices = 0, reach = 0;
  cudaGetDeviceCount(&devices);
  if (devices > 1) cudaDeviceCanAccessPeer(&reach, 0, 1);
  if (!reach) return fprintf(stderr, "no two GPUs that reach each other\n"), 77;
  on(1);
  cudaMalloc(&there, kBytes);
  cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking);
  on(0);
  cudaMalloc(&here, kBytes);
  cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking);
  const std::map<std::string, std::function<void()>> ways = {
      {"second", second_gpu}, {"unasked", unasked}, {"threads", threads}, {"peer", peer},
      {"stream", stream},     {"copy", copy},       {"well", well}};
  ways.at(argv[1])();
  printf("%s\n", cudaGetErrorName(ended));
  return ended != cudaSuccess;
}
