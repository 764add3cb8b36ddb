// One kernel writes an image through a surface; another stream samples it through a texture, and nothing orders the
// two.
// Report: https://github.com/shader-slang/slangpy/issues/345
#include "../bounded.cuh"

__global__ void draw(cudaSurfaceObject_t surface, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x < width && y < height) surf2Dwrite(1.0F * x, surface, x * static_cast<int>(sizeof(float)), y);
}

__global__ void sample(cudaTextureObject_t image, float* out, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x < width && y < height) out[y * width + x] = tex2D<float>(image, x + 0.5F, y + 0.5F);
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const int width = 256, height = 64;
  float* out = on_device<float>(width * height);
  cudaChannelFormatDesc channel = cudaCreateChannelDesc<float>();
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  cudaMallocArray(&resource.res.array.array, &channel, width, height, cudaArraySurfaceLoadStore);
  cudaTextureDesc description{};
  cudaTextureObject_t texture;
  cudaSurfaceObject_t surface;
  cudaCreateTextureObject(&texture, &resource, &description, nullptr);
  cudaCreateSurfaceObject(&surface, &resource);
  cudaStream_t drawing = new_stream(), sampling = new_stream();
  cudaEvent_t drawn = new_event();
  draw<<<dim3(2, height), 128, 0, drawing>>>(surface, width, height);  // FIRST
  cudaEventRecord(drawn, drawing);
  if (corrected) cudaStreamWaitEvent(sampling, drawn);
  sample<<<dim3(2, height), 128, 0, sampling>>>(texture, out, width, height);  // SECOND
  return finished();
}
