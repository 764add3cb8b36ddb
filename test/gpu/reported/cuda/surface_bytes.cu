// The x of a surface is in bytes; the kernel multiplies it by the size of an element twice.
__global__ void paint(cudaSurfaceObject_t surface, int width) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x < width) surf2Dwrite(1.0f, surface, x * int(sizeof(float) * sizeof(float)), y);  // ACCESS
}

int main() {
  const int width = 1024, height = 64;
  cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  cudaMallocArray(&resource.res.array.array, &format, width, height, cudaArraySurfaceLoadStore);
  cudaSurfaceObject_t surface;
  cudaCreateSurfaceObject(&surface, &resource);
  paint<<<dim3(width / 256, height), 256>>>(surface, width);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
