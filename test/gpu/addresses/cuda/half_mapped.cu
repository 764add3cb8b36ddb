// 4 GiB of addresses are reserved for a growing cache, 64 MiB are mapped, and a block beyond those is used.
#include <cuda.h>

__global__ void write_block(float* cache, long long block, long long elements) {
  cache[block * elements + threadIdx.x] = 1;  // ACCESS
}

int main() {
  cudaFree(nullptr);
  const size_t reserved = size_t(4) << 30, mapped = 64 << 20;
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemAccessDesc access = {properties.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  CUmemGenericAllocationHandle memory;
  CUdeviceptr address;
  cuMemAddressReserve(&address, reserved, 0, 0, 0);
  cuMemCreate(&memory, mapped, &properties, 0);
  cuMemMap(address, mapped, 0, memory, 0);  // ALLOC
  cuMemSetAccess(address, mapped, &access, 1);
  auto* cache = reinterpret_cast<float*>(address);
  write_block<<<1, 64>>>(cache, 3, 1 << 20);
  write_block<<<1, 64>>>(cache, 500, 1 << 20);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
