// Elements move down by one in place. A warp may read what the next one, or the next block, has already replaced.
// Related: https://github.com/hw-native-sys/pto-isa/issues/173 (in place where two buffers are needed)
#include "../bounded.cuh"

__global__ void shift(const int* from, int* to, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i + 1 < count) {
    const int value = from[i + 1];  // FIRST
    to[i] = value;                  // SECOND
  }
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const int count = 10'000;
  int *values = numbered<int>(count), *other = on_device<int>(count);
  shift<<<(count + 255) / 256, 256>>>(values, corrected ? other : values, count);  // LAUNCH
  return finished();
}
