// Random numbers: the buffer has as many bytes as cuRAND writes floats.
#include <curand.h>

int main() {
  const size_t count = 256 << 20;
  float* noise;
  cudaMalloc(&noise, count);  // ALLOC
  curandGenerator_t generator;
  curandCreateGenerator(&generator, CURAND_RNG_PSEUDO_PHILOX4_32_10);
  curandGenerateUniform(generator, noise, count);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
