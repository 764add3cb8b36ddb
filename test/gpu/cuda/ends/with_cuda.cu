// Code that runs at exit uses CUDA. WAY: which code; LIBRARY: the path of library.cu's library.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

static int* memory;

__global__ void add(int* p) { atomicAdd(p, 1); }

static void launch() {
  add<<<1, 1>>>(memory);
  cudaDeviceSynchronize();
}

struct Owner {
  int* owned = nullptr;
  ~Owner() {
    if (owned != nullptr) cudaFree(owned);
  }
};
static Owner owner;
static thread_local Owner of_thread;

int main(int, char** argv) {
  const std::string way = argv[1];
  if (cudaMalloc(&memory, 4096) != cudaSuccess) return 77;
  launch();
  std::printf("%s\n", argv[1]);
  std::fflush(stdout);
  if (way == "destructor") owner.owned = memory;
  if (way == "handler") std::atexit(launch);
  if (way == "reset") std::atexit([] { cudaDeviceReset(); });
  if (way == "again") std::atexit([] { std::exit(9); });
  if (way == "thread_local") {
    std::thread([] { cudaMalloc(&of_thread.owned, 4096); }).join();
    cudaMalloc(&of_thread.owned, 4096);
  }
  if (way == "quick_handler") {
    std::at_quick_exit(launch);
    std::quick_exit(5);
  }
  if (way == "library" || way == "unloaded") {
    static void* const library = dlopen(argv[2], RTLD_NOW);
    if (library == nullptr) return 77;
    if (way == "unloaded") std::atexit([] { dlclose(library); });
  }
  return 8;
}
