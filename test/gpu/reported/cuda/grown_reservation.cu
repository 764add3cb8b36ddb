// A range of addresses is reserved, and each part of it gets memory before it is used. The program succeeds.
#include <cuda.h>

__global__ void fill(float* x, size_t n) {
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) x[i] = 1;
}

struct Growing {
  CUdeviceptr start = 0;
  size_t mapped = 0;
  CUmemAllocationProp properties = {};

  bool reserve(size_t bytes) {
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    return cuMemAddressReserve(&start, bytes, 0, 0, 0) == CUDA_SUCCESS;
  }

  bool grow(size_t bytes) {
    CUmemGenericAllocationHandle handle;
    CUmemAccessDesc access = {properties.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    if (cuMemCreate(&handle, bytes, &properties, 0) != CUDA_SUCCESS) return false;
    if (cuMemMap(start + mapped, bytes, 0, handle, 0) != CUDA_SUCCESS) return false;
    if (cuMemSetAccess(start + mapped, bytes, &access, 1) != CUDA_SUCCESS) return false;
    mapped += bytes;
    return true;
  }
};

int main() {
  cudaFree(nullptr);
  const size_t step = 64 << 20;
  Growing buffer;
  if (!buffer.reserve(4 * step)) return 77;
  float* x = reinterpret_cast<float*>(buffer.start);
  for (int part = 1; part <= 3; part++) {
    if (!buffer.grow(step)) return 77;
    fill<<<1024, 256>>>(x, part * step / sizeof(float));
  }
  float last = 0;
  cudaMemcpy(&last, x + 3 * step / sizeof(float) - 1, sizeof last, cudaMemcpyDeviceToHost);
  return last != 1;
}
