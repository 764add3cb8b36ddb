// The bins of all blocks are added up by an atomic operation whose scope is one block.
// Report: https://github.com/ComputationalRadiationPhysics/picongpu/pull/2231
#include "../bounded.cuh"

template <bool corrected>
__global__ void histogram(const unsigned char* data, int count, unsigned* bins) {
  __shared__ unsigned mine[256];
  mine[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * 256 + threadIdx.x; i < count; i += gridDim.x * 256) atomicAdd(&mine[data[i]], 1);
  __syncthreads();
  if (corrected) {
    atomicAdd(&bins[threadIdx.x], mine[threadIdx.x]);
  } else {
    atomicAdd_block(&bins[threadIdx.x], mine[threadIdx.x]);  // FIRST
  }
}

int main(int argc, char**) {
  const int count = 50'000;
  unsigned char* data = numbered<unsigned char>(count);
  unsigned* bins = on_device<unsigned>(256);
  if (argc > 1) {
    histogram<true><<<16, 256>>>(data, count, bins);
  } else {
    histogram<false><<<16, 256>>>(data, count, bins);  // LAUNCH
  }
  return finished();
}
