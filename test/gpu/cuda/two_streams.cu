// A bad kernel on one stream, long ones on the other. "apart": both streams stop, and either could have failed first.
// On an H200, the kernel that was running on the other stream still finished, but the next one did not. "ordered": the
// second stream waits for the first, so none of its kernels can have begun.
#include <cstdio>
#include <string>

#include "spin.cuh"

__global__ void far_load(int* p) { p[0] = p[threadIdx.x + (1ull << 38)]; }

int main(int, char** argv) {
  bool ordered = std::string(argv[1]) == "ordered";
  int* p;
  cudaStream_t bad, busy;
  cudaEvent_t done;
  cudaMalloc(&p, 4096);
  cudaStreamCreateWithFlags(&bad, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&busy, cudaStreamNonBlocking);
  cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
  spin<<<1, 32, 0, bad>>>(p, 1000);
  spin<<<1, 32, 0, busy>>>(p, 1000);
  cudaDeviceSynchronize();
  if (!ordered) spin<<<1, 32, 0, busy>>>(p + 64, 1000000000);
  spin<<<1, 32, 0, bad>>>(p, 50000000);
  far_load<<<1, 32, 0, bad>>>(p);  // TRUE LINE
  cudaEventRecord(done, bad);
  if (ordered) cudaStreamWaitEvent(busy, done, 0);
  for (int i = 0; i < 5; i++) spin<<<1, 32, 0, busy>>>(p + 64, 10000000);
  cudaError_t e = cudaStreamSynchronize(busy);  // BLAMED
  printf("%s\n", cudaGetErrorName(e));
  return e != cudaSuccess;
}
