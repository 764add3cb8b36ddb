// Rows are written as vectors of 8 bytes, rounded up: the end of one column block overwrites the start of the next.
// Report: https://github.com/NVIDIA/cudf-spark-jni/issues/4590
#include "../bounded.cuh"

__global__ void write_pairs(float2* out, int pairs, float what) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < pairs) out[i] = make_float2(what, what);
}

__global__ void write(float* out, int count, float what) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = what;
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const int count = 4001;
  float* rows = on_device<float>(3 * count);
  cudaStream_t left = new_stream(), right = new_stream();
  const int pairs = (count + 1) / 2, start = corrected ? 2 * pairs : count;
  write_pairs<<<(pairs + 127) / 128, 128, 0, left>>>(reinterpret_cast<float2*>(rows), pairs, 1);  // FIRST
  write<<<(count + 127) / 128, 128, 0, right>>>(rows + start, count, 2);                          // SECOND
  return finished();
}
