// A kernel draws through a surface, and the next one on the same stream samples through a texture; another stream
// samples a second image meanwhile. No public report.
#include "../bounded.cuh"

__global__ void draw(cudaSurfaceObject_t surface, int width) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x < width) surf2Dwrite(1.0F * y, surface, x * static_cast<int>(sizeof(float)), y);
}

__global__ void sample(cudaTextureObject_t image, float* out, int width) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x < width) out[y * width + x] = tex2D<float>(image, x + 0.5F, y + 0.5F);
}

int main() {
  const int width = 200, height = 50;
  cudaChannelFormatDesc channel = cudaCreateChannelDesc<float>();
  for (int image = 0; image < 2; ++image) {
    cudaResourceDesc resource{};
    resource.resType = cudaResourceTypeArray;
    cudaMallocArray(&resource.res.array.array, &channel, width, height, cudaArraySurfaceLoadStore);
    cudaTextureDesc description{};
    cudaTextureObject_t texture;
    cudaSurfaceObject_t surface;
    cudaCreateTextureObject(&texture, &resource, &description, nullptr);
    cudaCreateSurfaceObject(&surface, &resource);
    float* out = on_device<float>(width * height);
    cudaStream_t stream = new_stream();
    draw<<<dim3(2, height), 128, 0, stream>>>(surface, width);
    sample<<<dim3(2, height), 128, 0, stream>>>(texture, out, width);
  }
  return finished();
}
