// The next image is copied into a CUDA array on a different stream from the kernel that samples it.
// Report: https://github.com/cupy/cupy/pull/4946
#include "../bounded.cuh"

__global__ void sample(cudaTextureObject_t image, float* out, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x < width && y < height) out[y * width + x] = tex2D<float>(image, x + 0.5F, y + 0.5F);
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const int width = 256, height = 128;
  const size_t row = width * sizeof(float);
  float *next = on_device<float>(width * height), *out = on_device<float>(width * height);
  cudaChannelFormatDesc channel = cudaCreateChannelDesc<float>();
  cudaArray_t array;
  cudaMallocArray(&array, &channel, width, height);
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc description{};
  cudaTextureObject_t texture;
  cudaCreateTextureObject(&texture, &resource, &description, nullptr);
  cudaStream_t sampling = new_stream(), loading = new_stream();
  cudaEvent_t loaded = new_event();
  cudaMemcpy2DToArrayAsync(array, 0, 0, next, row, row, height, cudaMemcpyDeviceToDevice, loading);  // FIRST
  cudaEventRecord(loaded, loading);
  if (corrected) cudaStreamWaitEvent(sampling, loaded);
  sample<<<dim3(2, height), 128, 0, sampling>>>(texture, out, width, height);  // SECOND
  return finished();
}
