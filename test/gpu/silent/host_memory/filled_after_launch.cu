// The host launches the kernel first and fills its input then, because the launch returns at once.
// No public report.
#include "../bounded.cuh"

__global__ void histogram(const unsigned* words, int count, unsigned* bins) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    atomicAdd(&bins[words[i] % 64], 1);  // READS
  }
}

static void fill(unsigned* words, int count) {
  for (int i = 0; i < count; ++i) words[i] = 2654435761u * i;  // HOST
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const int count = 500'000;
  unsigned *words = mapped<unsigned>(count), *bins = on_device<unsigned>(64);
  cudaStream_t stream = new_stream();
  if (corrected) fill(words, count);
  histogram<<<64, 256, 0, stream>>>(words, count, bins);  // LAUNCH
  if (!corrected) fill(words, count);
  return finished();
}
