// The device is full. Three lines have allocated most of its memory, and a fourth line's memory is free again.
// Plan: memory=64
#include "driver.h"

constexpr std::size_t kMebibyte = 1 << 20;

int main() {
  Driver driver;
  CUdeviceptr small[3] = {}, middle = 0, large = 0, gone = 0;
  CHECK(cuMemAlloc(&gone, 20 * kMebibyte));
  for (CUdeviceptr& each : small) CHECK(cuMemAlloc(&each, kMebibyte));  // THIRD LINE
  CHECK(cuMemAlloc(&large, 24 * kMebibyte));                            // FIRST LINE
  CHECK(cuMemFree(gone));
  CHECK(cuMemAlloc(&middle, 16 * kMebibyte));  // SECOND LINE
  CUdeviceptr memory = 0;
  CHECK(cuMemAlloc(&memory, 32 * kMebibyte));  // TRUE LINE
}
