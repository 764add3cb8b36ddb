// Blocks are launched in clusters of four, but the number of blocks is not a multiple of four.
#include <cuda_runtime.h>

__global__ void scale(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= 2;
}

bool run(float* x, int n) {
  cudaLaunchAttribute cluster = {};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {4, 1, 1};
  cudaLaunchConfig_t config = {};
  config.gridDim = (n + 255) / 256;
  config.blockDim = 256;
  config.attrs = &cluster;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, scale, x, n) == cudaSuccess &&  // LAUNCH
         cudaDeviceSynchronize() == cudaSuccess;
}

int main() {
  float* x;
  cudaMalloc(&x, 65536 * sizeof(float));
  cudaMemset(x, 0, 65536 * sizeof(float));
  if (!run(x, 16 * 256)) return 77;
  return run(x, 2500) ? 0 : 1;
}
