// A tensor map describes a matrix that was freed; the copy into shared memory reads through it.
#include <cuda.h>

#include <cuda/barrier>

using Barrier = cuda::barrier<cuda::thread_scope_block>;
namespace copies = cuda::device::experimental;
constexpr int TILE = 64;

__global__ void first_tile(const __grid_constant__ CUtensorMap map, float* out) {
  __shared__ alignas(128) float tile[TILE][TILE];
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ Barrier full;
  if (threadIdx.x == 0) {
    init(&full, blockDim.x);
    copies::fence_proxy_async_shared_cta();
  }
  __syncthreads();
  Barrier::arrival_token token;
  if (threadIdx.x == 0) {
    copies::cp_async_bulk_tensor_2d_global_to_shared(&tile, &map, 0, 0, full);  // ACCESS
    token = cuda::device::barrier_arrive_tx(full, 1, sizeof tile);
  } else {
    token = full.arrive();
  }
  full.wait(std::move(token));  // ACCESS
  out[threadIdx.x] = tile[0][threadIdx.x];
}

int main() {
  const cuuint64_t side = 4096;
  float *matrix, *out;
  cudaMalloc(&matrix, side * side * sizeof(float));  // ALLOC
  cudaMalloc(&out, TILE * sizeof(float));
  cuuint64_t sides[2] = {side, side}, pitch[1] = {side * sizeof(float)};
  cuuint32_t box[2] = {TILE, TILE}, step[2] = {1, 1};
  CUtensorMap map;
  if (cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, matrix, sides, pitch, box, step,
                             CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                             CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE))
    return 77;
  first_tile<<<1, TILE>>>(map, out);
  cudaFree(matrix);                   // FREED
  first_tile<<<1, TILE>>>(map, out);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
