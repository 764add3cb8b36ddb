// Tiles are loaded through a tensor map while another stream writes the rows after them, starting one row too early.
// Related: https://github.com/deepseek-ai/DeepGEMM/pull/343 (what a tensor map refers to changes while it is in use)
#include <cuda.h>

#include <cuda/barrier>
#include <utility>

#include "../bounded.cuh"

using Barrier = cuda::barrier<cuda::thread_scope_block>;
namespace bulk = cuda::device::experimental;

__global__ void sum_tile(const __grid_constant__ CUtensorMap map, float* sums) {
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

__global__ void write_rows(float* rows, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) rows[i] = 1;
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const int width = 128, rows = 96, tiled = 64;
  float *matrix = on_device<float>(width * rows), *sums = on_device<float>(32);
  const cuuint64_t sizes[2] = {width, rows}, pitch[1] = {width * sizeof(float)};
  const cuuint32_t box[2] = {32, 32}, steps[2] = {1, 1};
  CUtensorMap map;
  cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, matrix, sizes, pitch, box, steps,
                         CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                         CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  const int from = corrected ? tiled : tiled - 1, count = width * (rows - from);
  sum_tile<<<dim3(width / 32, tiled / 32), 32, 0, new_stream()>>>(map, sums);               // FIRST
  write_rows<<<(count + 255) / 256, 256, 0, new_stream()>>>(matrix + width * from, count);  // SECOND
  return finished();
}
