// A cluster of 16 blocks, without the attribute that allows more than 8.
__global__ void reduce(float* out) { out[blockIdx.x * blockDim.x + threadIdx.x] = blockIdx.x; }

int main() {
  float* out;
  cudaMalloc(&out, 64 * 128 * sizeof(float));
  cudaLaunchAttribute cluster = {};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = 64;
  config.blockDim = 128;
  config.attrs = &cluster;
  config.numAttrs = 1;
  for (unsigned blocks : {4, 8, 16}) {
    cluster.val.clusterDim.x = blocks;
    if (cudaLaunchKernelEx(&config, reduce, out) != cudaSuccess) return 1;  // LAUNCH
  }
  return cudaDeviceSynchronize() != cudaSuccess;
}
