// A buffer consists of two pieces of memory, but the right to access it is set for the first piece only.
#include <cuda.h>

__global__ void total(const float* x, size_t n, float* sum) {
  float mine = 0;
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) mine += x[i];  // ACCESS
  atomicAdd(sum, mine);
}

int main() {
  cudaFree(nullptr);
  const size_t piece = 128 << 20, pieces = 2;
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  CUmemAccessDesc access = {properties.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  CUdeviceptr start;
  if (cuMemAddressReserve(&start, pieces * piece, 0, 0, 0) != CUDA_SUCCESS) return 77;
  for (size_t i = 0; i < pieces; i++) {
    CUmemGenericAllocationHandle handle;
    if (cuMemCreate(&handle, piece, &properties, 0) != CUDA_SUCCESS) return 77;
    if (cuMemMap(start + i * piece, piece, 0, handle, 0) != CUDA_SUCCESS) return 77;
  }
  if (cuMemSetAccess(start, piece, &access, 1) != CUDA_SUCCESS) return 77;
  float* sum;
  cudaMalloc(&sum, sizeof(float));
  const float* x = reinterpret_cast<const float*>(start);
  cuMemsetD8(start, 0, piece);
  total<<<1024, 256>>>(x, piece / sizeof(float), sum);
  if (cudaDeviceSynchronize() != cudaSuccess) return 77;
  total<<<1024, 256>>>(x, pieces * piece / sizeof(float), sum);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
