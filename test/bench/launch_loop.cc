// launch_loop COUNT driver|runtime [cold]: launches from one line, so that an external tool can count instructions and
// cache lines. With cold, other data fills the first-level cache between two launches.
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <string>

extern "C" {
void** CUDARTAPI __cudaRegisterFatBinary(void* binary);
void CUDARTAPI __cudaRegisterFunction(void** handle, const char* stub, char* name, const char* device_name, int limit,
                                      uint3*, uint3*, dim3*, dim3*, int*);
}

namespace {

constexpr int kBatch = 256;  // launches between two synchronisations; fewer than the simulated stream's queue holds
char stub;

void fill_cache() {
  static volatile char other[1 << 18];
  for (std::size_t at = 0; at < sizeof other; at += 64) other[at] = other[at] + 1;
}

void check(int code) {
  if (code == 0) return;
  std::fprintf(stderr, "launch_loop: error %d\n", code);
  std::exit(1);
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) return 2;
  const bool cold = count > 3;
  const std::string what = arguments[2];
  const int launches = std::atoi(arguments[1]);
  char name[] = "empty", image[] = "bench";
  __cudaRegisterFunction(__cudaRegisterFatBinary(image), &stub, name, name, -1, nullptr, nullptr, nullptr, nullptr,
                         nullptr);
  check(cudaSetDevice(0));
  check(cudaFree(nullptr));
  CUmodule module = nullptr;
  CUfunction kernel = nullptr;
  check(cuModuleLoadData(&module, image));
  check(cuModuleGetFunction(&kernel, module, name));
  for (int i = 1; i <= launches; ++i) {
    check(what == "runtime" ? static_cast<int>(cudaLaunchKernel(&stub, dim3(1), dim3(32), nullptr, 0, nullptr))
                            : cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr));
    if (cold) fill_cache();
    if (i % kBatch == 0) check(cuCtxSynchronize());
  }
}
