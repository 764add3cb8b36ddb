// A cooperative group copies a tile into shared memory; the tile number is too large.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>

namespace cg = cooperative_groups;

__global__ void sum_tiles(const float* tiles, const long long* order, float* sums) {
  __shared__ alignas(16) float tile[1024];
  cg::thread_block block = cg::this_thread_block();
  cg::memcpy_async(block, tile, tiles + order[blockIdx.x] * 1024, sizeof tile);  // ACCESS
  cg::wait(block);
  atomicAdd(&sums[blockIdx.x], tile[threadIdx.x]);
}

int main() {
  long long host[4] = {0, 1, 1 << 20, 2}, *order;
  float *tiles, *sums;
  cudaMalloc(&tiles, 16 << 20);  // ALLOC
  cudaMalloc(&sums, 4096);
  cudaMalloc(&order, sizeof host);
  cudaMemcpy(order, host, sizeof host, cudaMemcpyHostToDevice);
  sum_tiles<<<4, 1024>>>(tiles, order, sums);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
