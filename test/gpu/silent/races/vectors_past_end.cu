// Loads of 16 bytes for a length that is not a multiple of four: the last one reads past the end.
// Related: https://github.com/pytorch/pytorch/issues/189669 (a read of 16 bytes out of bounds), issue 195547 there
#include "../bounded.cuh"

__global__ void sum(const float4* values, int vectors, float* total) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= vectors) return;
  const float4 v = values[i];  // ACCESS
  atomicAdd(total, v.x + v.y + v.z + v.w);
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const int count = 10'001;
  float *values, *total = on_device<float>(1);
  cudaMalloc(&values, count * sizeof(float));  // ALLOC
  cudaMemset(values, 0, count * sizeof(float));
  const int vectors = corrected ? count / 4 : (count + 3) / 4;
  sum<<<(vectors + 255) / 256, 256>>>(reinterpret_cast<const float4*>(values), vectors, total);  // OUT
  return finished();
}
