// Two streams read the same whole table.
// No public report.
#include "../bounded.cuh"

__global__ void look_up(const float* table, const int* keys, float* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = table[keys[i]];
}

int main() {
  const int count = 3000;
  float* table = on_device<float>(1024);
  for (int k = 0; k < 2; ++k) {
    int* keys = on_device<int>(count);
    look_up<<<12, 256, 0, new_stream()>>>(table, keys, on_device<float>(count), count);
  }
  return finished();
}
