// A texture of integers is created with linear filtering, which needs floating point values.
__global__ void sample(cudaTextureObject_t image, int width, int* out) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x < width) out[x] = tex2D<int>(image, x + 0.5f, 0.5f);
}

cudaError_t make(cudaTextureObject_t* texture, cudaArray_t array, cudaTextureFilterMode filter) {
  cudaResourceDesc resource = {};
  cudaTextureDesc description = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  description.filterMode = filter;
  description.readMode = cudaReadModeElementType;
  return cudaCreateTextureObject(texture, &resource, &description, nullptr);  // LAUNCH
}

int main() {
  const int width = 1024;
  cudaChannelFormatDesc format = cudaCreateChannelDesc<int>();
  cudaArray_t array;
  cudaTextureObject_t nearest, linear;
  int* out;
  cudaMalloc(&out, width * sizeof(int));
  if (cudaMallocArray(&array, &format, width, 64) != cudaSuccess) return 77;
  if (make(&nearest, array, cudaFilterModePoint) != cudaSuccess) return 77;
  sample<<<width / 256, 256>>>(nearest, width, out);
  if (cudaDeviceSynchronize() != cudaSuccess) return 77;
  return make(&linear, array, cudaFilterModeLinear) != cudaSuccess;
}
