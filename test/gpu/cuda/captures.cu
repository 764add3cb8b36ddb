// Correct: one thread captures in global mode while four others launch, which the capture does not forbid.
#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

__global__ void add(int* p) { atomicAdd(p, 1); }

std::atomic<bool> stop{false};

void launch(int* p, cudaStream_t s) {
  for (int i = 0; i < 20000 && !stop; i++) add<<<1, 1, 0, s>>>(p);
}

int main() {
  int *p, *mine, host = 0;
  cudaStream_t s[5];
  for (auto& stream : s) cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  cudaMalloc(&p, 4096), cudaMalloc(&mine, 4096), cudaMemset(mine, 0, 4096);
  for (auto stream : s) add<<<1, 1, 0, stream>>>(p);
  cudaDeviceSynchronize();
  std::vector<std::thread> threads;
  for (int i = 1; i < 5; i++) threads.emplace_back(launch, p, s[i]);
  int failed = 0;
  for (int round = 0; round < 50; round++) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t replayable;
    failed += cudaStreamBeginCapture(s[0], cudaStreamCaptureModeGlobal) != cudaSuccess;
    for (int i = 0; i < 20; i++) add<<<1, 1, 0, s[0]>>>(mine);
    failed += cudaStreamEndCapture(s[0], &graph) != cudaSuccess;
    failed += cudaGraphInstantiate(&replayable, graph, 0) != cudaSuccess;
    failed += cudaGraphLaunch(replayable, s[0]) != cudaSuccess;
  }
  stop = true;
  for (auto& t : threads) t.join();
  cudaMemcpyAsync(&host, mine, sizeof host, cudaMemcpyDeviceToHost, s[0]);
  failed += cudaDeviceSynchronize() != cudaSuccess;
  printf("%d calls failed, %d of 1000 nodes ran\n", failed, host);
  return failed != 0 || host != 1000;
}
