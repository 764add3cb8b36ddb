// Tiles of 32 columns begin every 30 columns, because the halo is read. It is written, too.
// Related: https://github.com/ghex-org/GHEX/pull/224
#include "../bounded.cuh"

static const int tile = 32, step = 30;

__global__ void filter(const float* in, float* out, int columns, int margin) {
  const int column = blockIdx.x * step + threadIdx.x, row = blockIdx.y;
  if (column >= columns) return;
  const float here = in[row * columns + column];
  if (threadIdx.x >= margin && threadIdx.x < tile - margin) {
    out[row * columns + column] = here + 0.1f * threadIdx.x;  // FIRST
  }
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const int columns = 632, rows = 40;
  float *in = numbered<float>(columns * rows), *out = on_device<float>(columns * rows);
  filter<<<dim3(21, rows), tile>>>(in, out, columns, corrected ? 1 : 0);  // LAUNCH
  return finished();
}
