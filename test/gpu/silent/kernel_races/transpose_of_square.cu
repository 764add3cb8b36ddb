// A transpose multiplies by the number of columns where the number of rows is meant. It is right for squares; else,
// elements of different blocks go to one place.
// Report: https://github.com/mindspore-ai/mindspore/issues/262
#include "../bounded.cuh"

__global__ void transpose(const float* in, float* out, int rows, int columns, int pitch) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
  if (row < rows && column < columns) {
    out[column * pitch + row] = in[row * columns + column];  // FIRST
  }
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const int rows = 96, columns = 64;
  float *in = numbered<float>(rows * columns), *out = on_device<float>(rows * columns);
  transpose<<<dim3(2, rows), 32>>>(in, out, rows, columns, corrected ? rows : columns);  // LAUNCH
  return finished();
}
