// Each warp sums a row by shuffles. Lane 0 writes the row's sum, and all lanes write the row itself.
// No public report.
#include "../bounded.cuh"

__global__ void softmax_parts(const float* in, float* out, float* sums, int rows) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  const float value = expf(in[row * 32 + lane] * 0.01f);
  float sum = value;
  for (int lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_xor_sync(0xffffffff, sum, lanes);
  out[row * 32 + lane] = value / sum;
  if (lane == 0) sums[row] = sum;
}

int main() {
  const int rows = 1001;
  float *in = numbered<float>(rows * 32), *out = on_device<float>(rows * 32), *sums = on_device<float>(rows);
  softmax_parts<<<(rows + 7) / 8, 256>>>(in, out, sums, rows);
  return finished();
}
