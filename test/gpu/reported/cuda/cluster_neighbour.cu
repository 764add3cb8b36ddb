// A block reads the shared memory of its neighbour in the cluster, far past the neighbour's tile.
#include <cooperative_groups.h>

__global__ void __cluster_dims__(2) exchange(const int* offsets, float* out) {
  namespace cg = cooperative_groups;
  __shared__ float tile[1024];
  cg::cluster_group cluster = cg::this_cluster();
  tile[threadIdx.x] = threadIdx.x;
  cluster.sync();
  const float* theirs = cluster.map_shared_rank(tile, cluster.block_rank() ^ 1);
  out[blockIdx.x * blockDim.x + threadIdx.x] = theirs[offsets[blockIdx.x] + threadIdx.x];  // ACCESS
  cluster.sync();
}

int main() {
  int host[2] = {0, 1 << 20}, *offsets;
  float* out;
  cudaMalloc(&offsets, sizeof host);
  cudaMalloc(&out, 2 * 256 * sizeof(float));
  cudaMemcpy(offsets, host, sizeof host, cudaMemcpyHostToDevice);
  exchange<<<2, 256>>>(offsets, out);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
