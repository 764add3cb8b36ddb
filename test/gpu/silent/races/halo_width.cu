// The halo has two rows, but the kernel for the interior, which runs during the unpacking, skips only one of them.
// Report: https://github.com/ghex-org/GHEX/pull/224 (unpacking writes halo rows that a kernel still reads)
#include "../bounded.cuh"

__global__ void unpack(float* field, const float* received, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) field[i] = received[i];
}

__global__ void interior(const float* field, float* out, int width, int first, int last) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = first + blockIdx.y;
  if (x < width && y < last) out[y * width + x] = field[y * width + x] + field[(y + 1) * width + x];
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const int width = 384, rows = 40, halo = 2;
  float *field = on_device<float>(width * rows), *received = on_device<float>(width * halo);
  float* out = on_device<float>(width * rows);
  cudaStream_t exchange = new_stream(), compute = new_stream();
  const int from = corrected ? halo : halo - 1;
  unpack<<<(width * halo + 255) / 256, 256, 0, exchange>>>(field, received, width * halo);     // FIRST
  interior<<<dim3(3, rows - 1 - from), 128, 0, compute>>>(field, out, width, from, rows - 1);  // SECOND
  return finished();
}
