// Correct: a thousand streams at once, then another thousand one after the other, with stream-ordered memory and a host
// function.
#include <atomic>
#include <cstdio>
#include <vector>

__global__ void add(int* p) { atomicAdd(p, 1); }

std::atomic<int> called{0};

int main() {
  int *p, host = 0;
  std::vector<cudaStream_t> streams(1000);
  cudaMalloc(&p, sizeof *p), cudaMemset(p, 0, sizeof *p);
  cudaDeviceSynchronize();
  for (auto& s : streams) cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
  for (auto s : streams) add<<<1, 1, 0, s>>>(p);
  for (auto s : streams) cudaStreamSynchronize(s), cudaStreamDestroy(s);
  for (int i = 0; i < 1000; i++) {
    cudaStream_t s;
    int* q;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    cudaMallocAsync(&q, 4096, s);
    cudaMemsetAsync(q, 0, 4096, s);
    add<<<1, 1, 0, s>>>(p);
    cudaLaunchHostFunc(
        s, [](void*) { called++; }, nullptr);
    cudaFreeAsync(q, s);
    cudaStreamDestroy(s);
  }
  cudaDeviceSynchronize();
  cudaMemcpy(&host, p, sizeof host, cudaMemcpyDeviceToHost);
  printf("%d adds, %d calls: %s\n", host, called.load(), cudaGetErrorName(cudaGetLastError()));
  return host != 2000;
}
