// The program ends while three threads work. WAY: how it ends, by main or by one of the threads. WORK: what the threads
// do.
#include <atomic>
#include <cstdio>
#include <functional>
#include <string>

#include "../spin.cuh"
#include "ways.h"

constexpr int kThreads = 3;
static std::atomic<int> at_work;  // threads
static std::atomic<bool> one_ends;

__global__ void add(int* p) { atomicAdd(p, 1); }

static void do_once(const std::string& work, cudaStream_t stream, int* memory) {
  if (work == "launch") {
    for (int i = 0; i < 8; ++i) add<<<1, 32, 0, stream>>>(memory);
  } else if (work == "wait") {
    spin<<<1, 32, 0, stream>>>(memory, 50'000'000);
  } else if (work == "callback") {
    cudaLaunchHostFunc(
        stream, [](void*) { usleep(50'000); }, nullptr);
  } else if (work == "allocate") {
    int* more = nullptr;
    if (cudaMalloc(&more, 1 << 20) == cudaSuccess) cudaFree(more);
  }
}

static void serve(const std::string& work, int* memory) {
  cudaStream_t stream;
  if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess) std::exit(70);
  for (int begun = 1;; begun = 0) {
    do_once(work, stream, memory);
    at_work += begun;
    cudaStreamSynchronize(stream);
    if (one_ends.exchange(false)) std::exit(8);
  }
}

static void end_by_others(const std::string& way, pthread_t worker) {
  std::signal(SIGUSR1, [](int) { std::exit(7); });
  if (way == "handler") pthread_kill(worker, SIGUSR1);
  if (way == "worker") one_ends = true;
  if (way == "host_function")
    cudaLaunchHostFunc(
        nullptr, [](void*) { std::exit(9); }, nullptr);
  if (way == "storm") {
    std::signal(SIGUSR1, [](int) {});
    for (int i = 0; i < 1000; ++i) pthread_kill(worker, SIGUSR1);
    std::exit(10);
  }
  for (;;) pause();
}

int main(int, char** argv) {
  int* memory = nullptr;
  if (cudaFree(nullptr) != cudaSuccess) return 77;
  if (cudaMalloc(&memory, 4096) != cudaSuccess) return 70;
  static const std::string way = argv[1], work = argv[2];  // static: main's locals are destroyed when main returns
  std::thread first(serve, std::cref(work), memory);
  const pthread_t worker = first.native_handle();
  first.detach();
  for (int i = 1; i < kThreads; ++i) std::thread(serve, std::cref(work), memory).detach();
  while (at_work < kThreads) std::this_thread::yield();
  std::printf("%s %s\n", argv[1], argv[2]);
  std::fflush(stdout);
  end_by(way);
  end_by_others(way, worker);
}
