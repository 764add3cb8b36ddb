// The size of a tile in shared memory is computed for half, but the kernel computes in float.
#include <cuda_fp16.h>

template <class T>
struct Accumulated {
  using Type = T;
};

template <>
struct Accumulated<__half> {
  using Type = float;
};

template <class T>
__global__ void row_sums(const T* matrix, int width, T* sums) {
  using Wide = typename Accumulated<T>::Type;
  extern __shared__ char memory[];
  Wide* tile = reinterpret_cast<Wide*>(memory);
  for (int i = threadIdx.x; i < width; i += blockDim.x) tile[i] = Wide(matrix[blockIdx.x * width + i]);  // ACCESS
  __syncthreads();
  if (threadIdx.x != 0) return;
  Wide sum = 0;
  for (int i = 0; i < width; i++) sum += tile[i];
  sums[blockIdx.x] = T(sum);
}

template <class T>
bool run(int rows, int width) {
  T *matrix, *sums;
  cudaMalloc(&matrix, sizeof(T) * rows * width);
  cudaMalloc(&sums, sizeof(T) * rows);
  cudaMemset(matrix, 0, sizeof(T) * rows * width);
  row_sums<T><<<rows, 256, sizeof(T) * width>>>(matrix, width, sums);  // LAUNCH
  return cudaGetLastError() == cudaSuccess && cudaDeviceSynchronize() == cudaSuccess;
}

int main() {
  const int rows = 64, width = 12 << 10;
  if (!run<float>(rows, width)) return 77;
  return run<__half>(rows, width) ? 0 : 1;
}
