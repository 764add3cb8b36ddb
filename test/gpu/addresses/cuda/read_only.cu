// A kernel writes into memory that is mapped read-only.
#include <cuda.h>

__global__ void update(float* shared_weights) { shared_weights[threadIdx.x] = 0; }  // ACCESS

int main() {
  cudaFree(nullptr);
  const size_t size = 64 << 20;
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemAccessDesc access = {properties.location, CU_MEM_ACCESS_FLAGS_PROT_READ};
  CUmemGenericAllocationHandle memory;
  CUdeviceptr address;
  cuMemAddressReserve(&address, size, 0, 0, 0);
  cuMemCreate(&memory, size, &properties, 0);
  cuMemMap(address, size, 0, memory, 0);  // ALLOC
  cuMemSetAccess(address, size, &access, 1);
  update<<<1, 64>>>(reinterpret_cast<float*>(address));  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
