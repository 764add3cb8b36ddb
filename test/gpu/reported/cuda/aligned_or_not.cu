// Rows are copied with wide stores only if both rows are aligned. The program succeeds.
#include <cstdint>

__device__ bool is_aligned(const void* p) { return reinterpret_cast<uintptr_t>(p) % 16 == 0; }

__global__ void copy_rows(const float* in, float* out, const int* rows, int size) {
  const float* from = in + blockIdx.x * size;
  float* to = out + rows[blockIdx.x] * size;
  int wide = is_aligned(from) && is_aligned(to) ? size / 4 : 0;
  for (int i = threadIdx.x; i < wide; i += blockDim.x)
    reinterpret_cast<float4*>(to)[i] = reinterpret_cast<const float4*>(from)[i];
  for (int i = 4 * wide + threadIdx.x; i < size; i += blockDim.x) to[i] = from[i];
}

int main() {
  const int count = 4, size = 45, rows = 1024;
  const int host[count] = {3, 17, 6, 1023};
  float *in, *out, last = 1;
  int* places;
  cudaMalloc(&in, count * size * sizeof(float));
  cudaMalloc(&out, rows * size * sizeof(float));
  cudaMalloc(&places, sizeof host);
  cudaMemset(in, 0, count * size * sizeof(float));
  cudaMemset(out, 0xff, rows * size * sizeof(float));
  cudaMemcpy(places, host, sizeof host, cudaMemcpyHostToDevice);
  copy_rows<<<count, 32>>>(in, out, places, size);
  cudaMemcpy(&last, out + rows * size - 1, sizeof last, cudaMemcpyDeviceToHost);
  return last != 0;
}
