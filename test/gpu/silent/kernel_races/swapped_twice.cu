// A square is transposed in place. Each pair is swapped by both of its threads, because nobody is left out.
// Related: https://github.com/hw-native-sys/pto-isa/issues/173 (a transpose whose output is its input)
#include "../bounded.cuh"

__global__ void transpose(float* square, int size, int least) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= size || y >= size || x - y < least) return;
  const float upper = square[y * size + x], lower = square[x * size + y];  // FIRST
  square[y * size + x] = lower;                                            // SECOND
  square[x * size + y] = upper;                                            // SECOND
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const int size = 128;
  float* square = numbered<float>(size * size);
  transpose<<<dim3(8, 8), dim3(16, 16)>>>(square, size, corrected ? 1 : -size);  // LAUNCH
  return finished();
}
