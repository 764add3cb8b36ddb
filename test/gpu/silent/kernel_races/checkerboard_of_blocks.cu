// Black and white cells take turns inside one kernel. The barrier between the turns is one of the block, but the
// neighbours at the edge belong to another block.
// Report: https://github.com/numba/numba/issues/7502
#include "../bounded.cuh"

__global__ void update(float* cells, int size, int first, int turns) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  for (int turn = first; turn < first + turns; ++turn) {
    if (x > 0 && x < size - 1 && y > 0 && y < size - 1 && (x + y) % 2 == turn % 2) {
      float* cell = cells + y * size + x;
      const float around = cell[-1] + cell[1] + cell[-size] + cell[size];  // FIRST
      *cell = 0.25f * around;                                              // SECOND
    }
    __syncthreads();
  }
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const int size = 128, turns = 6;
  float* cells = numbered<float>(size * size);
  const int at_once = corrected ? 1 : turns;
  for (int turn = 0; turn < turns; turn += at_once) {
    update<<<dim3(8, 8), dim3(16, 16)>>>(cells, size, turn, at_once);  // LAUNCH
  }
  return finished();
}
