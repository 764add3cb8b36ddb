// Eight threads end the program. WAY: how they end it. WORK "well": nothing fails. "fails": all end it at the same
// moment, once all have got the context's error. "fails_apart": each thread ends it when it gets the error.
#include <atomic>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "ways.h"

constexpr int kThreads = 8;
static std::atomic<int> at_gate;

__global__ void add(int* p) { atomicAdd(p, 1); }

static void meet(int round) {
  ++at_gate;
  while (at_gate < round * kThreads) std::this_thread::yield();
}

static void serve(const std::string& way, bool apart, int* memory) {
  cudaStream_t stream;
  if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess) std::exit(70);
  meet(1);
  for (int i = 0; i < 4; ++i) {
    add<<<1, 32, 0, stream>>>(memory);  // TRUE LINE
    if (cudaStreamSynchronize(stream) != cudaSuccess) break;
  }
  if (!apart) meet(2);
  end_by(way);
}

int main(int, char** argv) {
  const std::string way = argv[1], work = argv[2];
  int* memory = reinterpret_cast<int*>(4096);
  if (cudaFree(nullptr) != cudaSuccess) return 77;
  if (work == "well" && cudaMalloc(&memory, 4096) != cudaSuccess) return 70;
  std::printf("%s %s\n", argv[1], argv[2]);
  std::fflush(stdout);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(serve, way, work == "fails_apart", memory);
  for (std::thread& thread : threads) thread.join();
}
