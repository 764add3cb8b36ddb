// Vectors of four elements for the body, single elements for the tail.
// Pattern: https://github.com/NVIDIA/cudf-spark-jni/issues/4590 (corrected)
#include "../bounded.cuh"

__global__ void scale(float* values, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, vectors = count / 4;
  if (i < vectors) {
    float4& v = reinterpret_cast<float4*>(values)[i];
    v = make_float4(2 * v.x, 2 * v.y, 2 * v.z, 2 * v.w);
  }
  if (i < count % 4) values[4 * vectors + i] *= 2;
}

int main() {
  const int count = 4003;
  float* values;
  cudaMalloc(&values, count * sizeof(float));
  cudaMemset(values, 0, count * sizeof(float));
  scale<<<8, 128>>>(values, count);
  return finished();
}
