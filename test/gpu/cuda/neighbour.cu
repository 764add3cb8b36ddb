// Two programs that share a GPU: `neighbour works FILE` keeps it busy until the file appears, for at most ten seconds,
// and `neighbour fails` writes to null.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>

#include "spin.cuh"

__global__ void store(int* p) { p[threadIdx.x] = 1; }

int works(const char* file) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  int* p;
  if (cudaMalloc(&p, 4096) != cudaSuccess) return 1;
  bool said = false;
  do {
    for (int i = 0; i < 20; i++) spin<<<1, 32>>>(p, 100'000);
    if (cudaDeviceSynchronize() != cudaSuccess) return 1;
    if (!said) printf("working\n");
    said = true;
    fflush(stdout);
  } while (access(file, F_OK) != 0 && std::chrono::steady_clock::now() < end);
  return 0;
}

int fails() {
  store<<<1, 32>>>(nullptr);
  return cudaDeviceSynchronize() == cudaSuccess ? 0 : 1;
}

int main(int argc, char** argv) {
  if (argc == 3 && strcmp(argv[1], "works") == 0) return works(argv[2]);
  return argc == 2 && strcmp(argv[1], "fails") == 0 ? fails() : 2;
}
