// One thread keeps launching good work, and the other launches a bad kernel. Either thread may get the error first.
#include <atomic>
#include <cstdio>
#include <thread>

#include "spin.cuh"

__global__ void far_store(int* p) { p[threadIdx.x + (1ull << 40)] = 1; }

std::atomic<bool> working{false}, failed{false};

void work(int* p, cudaStream_t s) {
  for (int i = 0; i < 100000 && !failed; i++) {
    spin<<<1, 32, 0, s>>>(p, 200000);
    if (cudaStreamSynchronize(s) != cudaSuccess) failed = true;
    working = true;
  }
}

void break_it(int* p, cudaStream_t s) {
  while (!working) std::this_thread::yield();
  far_store<<<1, 32, 0, s>>>(p);  // TRUE LINE
  if (cudaStreamSynchronize(s) != cudaSuccess) failed = true;
}

int main() {
  int* p;
  cudaStream_t s[2];
  cudaMalloc(&p, 4096);
  for (auto& stream : s) cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  std::thread good(work, p, s[0]), bad(break_it, p + 64, s[1]);
  good.join();
  bad.join();
  puts(failed ? "failed" : "went well");
  return failed;
}
