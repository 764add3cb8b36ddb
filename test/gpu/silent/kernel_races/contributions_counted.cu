// Many threads count into the same element without an atomic operation.
// Report: https://github.com/VITA-Group/LightGaussian/issues/24
#include "../bounded.cuh"

template <bool corrected>
__global__ void count(const int* ids, int pixels, int* counts) {
  const int pixel = blockIdx.x * blockDim.x + threadIdx.x;
  if (pixel >= pixels) return;
  if (corrected) {
    atomicAdd(&counts[ids[pixel]], 1);
  } else {
    counts[ids[pixel]] += 1;  // FIRST
  }
}

int main(int argc, char**) {
  const int pixels = 4096;
  int *ids = numbered<int>(pixels), *counts = on_device<int>(100);
  if (argc > 1) {
    count<true><<<pixels / 256, 256>>>(ids, pixels, counts);
  } else {
    count<false><<<pixels / 256, 256>>>(ids, pixels, counts);  // LAUNCH
  }
  return finished();
}
