// The host changes memory that a kernel has yet to read, or only appears to do so: `race_host_kernel CUBIN WHICH`.
// Plan: hold kernel=slow until=notify
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "driver.h"

extern "C" void sim_notify();

constexpr std::size_t kBytes = 4096, kRead = 128;  // the kernel has 32 threads, and each of them reads 4 bytes

static bool is(const char* which, const char* name) { return std::strcmp(which, name) == 0; }

int main(int, char** arguments) {
  const char* which = arguments[2];
  Driver driver;
  std::ifstream file(arguments[1], std::ios::binary);
  const std::string code(std::istreambuf_iterator<char>(file), {});
  CHECK(cuModuleLoadData(&driver.module, code.data()));
  CUfunction slow = driver.kernel("slow"), copy = driver.kernel("copy__8_8");
  CUstream stream = driver.stream();
  unsigned char* source = nullptr;
  CHECK(cuMemHostAlloc(reinterpret_cast<void**>(&source), kBytes, CU_MEMHOSTALLOC_DEVICEMAP));
  std::memset(source, 1, kBytes);
  CUdeviceptr device = driver.allocate(kBytes), from = reinterpret_cast<CUdeviceptr>(source);
  if (is(which, "answers")) device = from + kBytes / 2;  // the kernel writes to host memory
  void* parameters[] = {&device, &from};
  LAUNCH(slow, stream);
  CHECK(cuLaunchKernel(copy, 1, 1, 1, 32, 1, 1, 0, stream, parameters, nullptr));  // LAUNCH LINE
  if (is(which, "waited")) {
    sim_notify();
    CHECK(cuStreamSynchronize(stream));
  }
  if (is(which, "beside")) {
    std::memset(source + kRead, 2, 64);
  } else {
    std::memset(source + 16, 2, 64);
  }
  sim_notify();
  CHECK(cuCtxSynchronize());
  std::puts("done");
}
