// Failures that differ between the first run and a rerun.
//   race          the kernel reads a pointer that a slow kernel on another stream has yet to write; if anything
//                 waits for the slow kernel, the pointer is written in time
//   sometimes F   fails in every third run, counted in the file F
//   needs_later   a kernel waits, for at most three seconds, until a later kernel on another stream releases it;
//                 then a different kernel fails
#include <cstdio>
#include <cstdlib>
#include <string>

#include "spin.cuh"

__global__ void publish(int** where, int* p) { *where = p; }
__global__ void follow(int** where) { (*where)[threadIdx.x] = 1; }
// One kernel for each mode, because a compiler merges two launches with the same tail into one.
__global__ void far_load(int* p) { p[0] = p[threadIdx.x + (1ull << 38)]; }
__global__ void far_store(int* p) { p[threadIdx.x + (1ull << 38)] = 1; }

__global__ void wait_for(volatile int* flag) {
  unsigned long long start, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  while (*flag == 0 && now - start < 3000000000ull);
}
__global__ void let_go(volatile int* flag) { *flag = 1; }

int times_run(const char* file) {
  FILE* f = fopen(file, "a+");
  fputc('.', f);
  fflush(f);
  const long runs = ftell(f);
  fclose(f);
  return static_cast<int>(runs);
}

int main(int argc, char** argv) {
  const std::string mode = argv[1];
  int *p, **where;
  cudaStream_t one, other;
  cudaMalloc(&p, 4096), cudaMalloc(&where, 4096);
  cudaMemset(p, 0, 4096), cudaMemset(where, 0, 4096);
  cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
  spin<<<1, 32, 0, one>>>(p + 64, 1000);
  // Runs every kernel once. If one were loaded later, loading it would wait for the kernels that are running.
  publish<<<1, 1, 0, one>>>(where, p);
  follow<<<1, 32, 0, one>>>(where);
  cudaDeviceSynchronize();
  cudaMemset(where, 0, 4096);
  cudaDeviceSynchronize();
  if (mode == "race") {
    spin<<<1, 32, 0, one>>>(p + 64, 200000000);
    publish<<<1, 1, 0, one>>>(where, p);
    follow<<<1, 32, 0, other>>>(where);  // TRUE LINE race
  } else if (mode == "sometimes") {
    const bool bad = argc > 2 && times_run(argv[2]) % 3 == 1;
    for (int i = 0; i < 100; i++) spin<<<1, 32, 0, one>>>(p, 1000);
    far_load<<<1, 32, 0, one>>>(bad ? p : p - (1ull << 38));  // TRUE LINE sometimes
  } else {
    wait_for<<<1, 1, 0, one>>>(p + 512);
    let_go<<<1, 1, 0, other>>>(p + 512);
    cudaStreamSynchronize(one);
    far_store<<<1, 32, 0, one>>>(p);  // TRUE LINE needs_later
  }
  cudaError_t e = cudaDeviceSynchronize();  // BLAMED
  printf("%s\n", cudaGetErrorName(e));
  return e != cudaSuccess;
}
