// The freed pointer is a member of a structure that is passed to the kernel by value.
// Plan: fault kernel=scale__24_4 nth=2
#include "driver.h"

struct Rows {
  long count;
  CUdeviceptr from, to;
};

// A real program would compile this code at run time.
[[maybe_unused]] const char* const kSource = R"(
struct Rows {
  long count;
  float* from;
  float* to;
};
extern "C" __global__ void scale__24_4(Rows rows, float factor) {}
)";

int main() {
  Driver driver;
  CUfunction scale = driver.kernel("scale__24_4");
  Rows rows{512, 0, 0};
  float factor = 2;
  CHECK(cuMemAlloc(&rows.from, 4096));
  CHECK(cuMemAlloc(&rows.to, 8192));  // ALLOCATED LINE
  void* parameters[] = {&rows, &factor};
  cuLaunchKernel(scale, 1, 1, 1, 32, 1, 1, 0, nullptr, parameters, nullptr);
  CHECK(cuMemFree(rows.to));                                                  // FREED LINE
  cuLaunchKernel(scale, 1, 1, 1, 32, 1, 1, 0, nullptr, parameters, nullptr);  // TRUE LINE
  CHECK(cuCtxSynchronize());
}
