// Rows are divided at an index that one side includes as its last row and the other side uses as its first.
// Related: https://github.com/LMCache/LMCache/pull/2706 (two streams overlap at the edge of a chunk)
#include "../bounded.cuh"

__global__ void normalise(float* rows, int width, int from, int last) {
  const int row = from + blockIdx.x;
  if (row > last) return;
  for (int column = threadIdx.x; column < width; column += blockDim.x) rows[row * width + column] *= 0.25F;
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const int width = 300, rows = 200, split = 120;
  float* table = on_device<float>(width * rows);
  cudaStream_t one = new_stream(), other = new_stream();
  const int last = corrected ? split - 1 : split;
  normalise<<<last + 1, 96, 0, one>>>(table, width, 0, last);                // FIRST
  normalise<<<rows - split, 96, 0, other>>>(table, width, split, rows - 1);  // SECOND
  return finished();
}
