// Correct: eight threads with eight streams each and events between them; everything ends normally.
#include <cstdio>
#include <thread>
#include <vector>

__global__ void add(int* p, int v) { atomicAdd(p, v); }

void work(int* sum) {
  cudaStream_t s[8];
  cudaEvent_t e[8];
  for (int i = 0; i < 8; i++) cudaStreamCreateWithFlags(&s[i], cudaStreamNonBlocking), cudaEventCreate(&e[i]);
  for (int round = 0; round < 100; round++)
    for (int i = 0; i < 8; i++) {
      add<<<1, 1, 0, s[i]>>>(sum, 1);
      cudaEventRecord(e[i], s[i]);
      cudaStreamWaitEvent(s[(i + 1) % 8], e[i], 0);
    }
  for (int i = 0; i < 8; i++) cudaStreamSynchronize(s[i]), cudaStreamDestroy(s[i]), cudaEventDestroy(e[i]);
}

int main() {
  int *sum, host = 0;
  cudaMalloc(&sum, sizeof *sum);
  cudaMemset(sum, 0, sizeof *sum);
  cudaDeviceSynchronize();
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; i++) threads.emplace_back(work, sum);
  for (auto& t : threads) t.join();
  cudaMemcpy(&host, sum, sizeof host, cudaMemcpyDeviceToHost);
  printf("%d of 6400: %s\n", host, cudaGetErrorName(cudaGetLastError()));
  return host != 6400;
}
