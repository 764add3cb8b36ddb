// Projections become the layers of a texture; the new scan has more of them than a texture can have layers.
#include <cuda_runtime.h>

bool make_array(int width, int height, int projections) {
  cudaArray_t array;
  cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  if (cudaMalloc3DArray(&array, &format, make_cudaExtent(width, height, projections), cudaArrayLayered)  // LAUNCH
      != cudaSuccess)
    return false;
  return cudaFreeArray(array) == cudaSuccess;
}

int main() {
  if (!make_array(128, 128, 1024)) return 77;
  return make_array(128, 128, 4097) ? 0 : 1;
}
