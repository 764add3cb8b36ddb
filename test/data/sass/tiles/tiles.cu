// Tensor copies of tiles. Compiled for sm_90, sm_100 and sm_120. On sm_90, the CUtensorMap is at offset 112. With NAMED,
// the first kernel's name tells the simulated driver the sizes of its parameters, for tiles.sm90.cubin.
#include <cuda.h>

#include <cuda/barrier>
#include <utility>

using Barrier = cuda::barrier<cuda::thread_scope_block>;
namespace bulk = cuda::device::experimental;

#ifdef NAMED
#define load_tiles load_tiles__128_8
#endif
extern "C" __global__ void load_tiles(const __grid_constant__ CUtensorMap map, float* sums) {
  __shared__ alignas(128) float tile[32][32];
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ Barrier full;
  if (threadIdx.x == 0) {
    init(&full, blockDim.x);
    bulk::fence_proxy_async_shared_cta();
  }
  __syncthreads();
  Barrier::arrival_token token;
  if (threadIdx.x == 0) {
    bulk::cp_async_bulk_tensor_2d_global_to_shared(&tile, &map, 32 * blockIdx.x, 32 * blockIdx.y, full);
    token = cuda::device::barrier_arrive_tx(full, 1, sizeof tile);
  } else {
    token = full.arrive();
  }
  full.wait(std::move(token));
  atomicAdd(&sums[threadIdx.x], tile[threadIdx.x][0]);
}

extern "C" __global__ void store_tiles(const __grid_constant__ CUtensorMap map, int first) {
  __shared__ alignas(128) float tile[32][32];
  tile[threadIdx.x][0] = 1;
  bulk::fence_proxy_async_shared_cta();
  __syncthreads();
  if (threadIdx.x == 0) {
    bulk::cp_async_bulk_tensor_2d_shared_to_global(&map, 32 * blockIdx.x, first + 32 * blockIdx.y, &tile);
    bulk::cp_async_bulk_commit_group();
    bulk::cp_async_bulk_wait_group_read<0>();
  }
}
