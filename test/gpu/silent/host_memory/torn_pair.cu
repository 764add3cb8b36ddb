// A kernel that runs for a while reads a position of two words. The host moves it meanwhile, with plain stores.
// No public report.
#include <chrono>
#include <thread>

#include "../bounded.cuh"

__global__ void follow(const double2* position, double* path, int points, long long pause) {
  for (int i = 0; i < points; ++i) {
    const double2 here = position[threadIdx.x];  // READS
    path[i * blockDim.x + threadIdx.x] = here.x * here.x + here.y * here.y;
    for (long long start = clock64(); clock64() - start < pause;) {
    }
    __syncthreads();
  }
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const int points = 100;
  double2* position;
  cudaHostAlloc(&position, 32 * sizeof *position, cudaHostAllocMapped);
  for (int i = 0; i < 32; ++i) position[i] = {1, 0};
  double* path = on_device<double>(points * 32);
  cudaStream_t stream = new_stream();
  follow<<<1, 32, 0, stream>>>(position, path, points, ticks(0.003));  // LAUNCH
  if (corrected) cudaStreamSynchronize(stream);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  for (int i = 0; i < 32; ++i) position[i] = {0.5 * i, 0.25 * i};  // HOST
  return finished();
}
