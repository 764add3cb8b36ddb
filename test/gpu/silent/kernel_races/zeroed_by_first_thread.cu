// Thread 0 zeroes its block's counter, and the others add to it without waiting for that.
// Related: https://github.com/alicevision/popsift/pull/82 (the same with a counter in shared memory)
#include "../bounded.cuh"

template <bool corrected>
__global__ void count_peaks(const float* angles, unsigned* peaks) {
  if (threadIdx.x == 0) peaks[blockIdx.x] = 0;  // FIRST
  if (corrected) __syncthreads();
  const float angle = angles[blockIdx.x * blockDim.x + threadIdx.x];
  if (angle >= 0) atomicAdd(&peaks[blockIdx.x], 1);  // SECOND
}

int main(int argc, char**) {
  const int blocks = 50, threads = 192;
  float* angles = numbered<float>(blocks * threads);
  unsigned* peaks = on_device<unsigned>(blocks);
  if (argc > 1) {
    count_peaks<true><<<blocks, threads>>>(angles, peaks);
  } else {
    count_peaks<false><<<blocks, threads>>>(angles, peaks);  // LAUNCH
  }
  return finished();
}
