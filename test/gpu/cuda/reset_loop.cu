// Correct: ten contexts one after the other, each with its own work on two streams.
#include <cstdio>

__global__ void add(int* p) { atomicAdd(p, 1); }

int main() {
  int sum = 0;
  for (int round = 0; round < 10; round++) {
    int *p, host = 0;
    cudaStream_t s;
    cudaMalloc(&p, sizeof *p), cudaMemset(p, 0, sizeof *p);
    cudaStreamCreate(&s);
    for (int i = 0; i < 50; i++) add<<<1, 1, 0, i % 2 ? s : nullptr>>>(p);
    cudaDeviceSynchronize();
    cudaMemcpy(&host, p, sizeof host, cudaMemcpyDeviceToHost);
    sum += host;
    cudaDeviceReset();
  }
  printf("%d adds: %s\n", sum, cudaGetErrorName(cudaGetLastError()));
  return sum != 500;
}
