// Memory is unmapped so that another process can use it ("sleep"), and a step runs before it is mapped again.
#include <cuda.h>

__global__ void step(float* weights) { weights[threadIdx.x] += 1; }  // ACCESS

int main() {
  cudaFree(nullptr);
  const size_t size = 128 << 20;
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemAccessDesc access = {properties.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  CUmemGenericAllocationHandle memory;
  CUdeviceptr address;
  cuMemAddressReserve(&address, size, 0, 0, 0);
  cuMemCreate(&memory, size, &properties, 0);
  cuMemMap(address, size, 0, memory, 0);  // ALLOC
  cuMemSetAccess(address, size, &access, 1);
  step<<<1, 64>>>(reinterpret_cast<float*>(address));
  cudaDeviceSynchronize();
  cuMemUnmap(address, size);  // FREED
  cuMemRelease(memory);
  step<<<1, 64>>>(reinterpret_cast<float*>(address));  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
