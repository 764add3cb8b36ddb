// A texture of an image whose rows are packed: the pitch is not a multiple of what the device requires.
#include <cstdio>

bool make_texture(float* image, int width, int height, cudaTextureObject_t* texture) {
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypePitch2D;
  resource.res.pitch2D.devPtr = image;
  resource.res.pitch2D.desc = cudaCreateChannelDesc<float>();
  resource.res.pitch2D.width = width;
  resource.res.pitch2D.height = height;
  resource.res.pitch2D.pitchInBytes = width * sizeof(float);
  cudaTextureDesc how = {};
  how.filterMode = cudaFilterModeLinear;
  cudaError_t error = cudaCreateTextureObject(texture, &resource, &how, nullptr);  // LAUNCH
  if (error != cudaSuccess) fprintf(stderr, "width %d: %s\n", width, cudaGetErrorString(error));
  return error == cudaSuccess;
}

int main() {
  const int height = 1080;
  float* image;
  cudaMalloc(&image, 4096 * height * sizeof(float));
  cudaTextureObject_t texture;
  for (int width : {1920, 1001})
    if (!make_texture(image, width, height, &texture)) return 1;
  return 0;
}
