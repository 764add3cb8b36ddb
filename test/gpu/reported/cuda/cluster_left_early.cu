// A block of a cluster ends while its neighbour still wants to read its shared memory.
#include <cooperative_groups.h>

__global__ void __cluster_dims__(2) sums(const float* in, float* out) {
  namespace cg = cooperative_groups;
  __shared__ float part[256];
  cg::cluster_group cluster = cg::this_cluster();
  part[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
  cluster.sync();
  if (cluster.block_rank() == 1) return;
  for (long long begin = clock64(); clock64() - begin < 20'000'000;) {
  }
  const volatile float* theirs = cluster.map_shared_rank(part, 1);
  out[threadIdx.x] = part[threadIdx.x] + theirs[threadIdx.x];  // ACCESS
}

int main() {
  float *in, *out;
  cudaMalloc(&in, 512 * sizeof(float));
  cudaMalloc(&out, 256 * sizeof(float));
  cudaMemset(in, 0, 512 * sizeof(float));
  sums<<<2, 256>>>(in, out);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
