// An all-reduce asks for a handle of its buffer for other processes, but the buffer is mapped memory.
#include <cuda.h>
#include <cuda_runtime.h>

void* map_buffer(size_t bytes) {
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  CUmemAccessDesc access = {properties.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  CUmemGenericAllocationHandle handle;
  CUdeviceptr start;
  if (cuMemAddressReserve(&start, bytes, 0, 0, 0) != CUDA_SUCCESS) return nullptr;
  if (cuMemCreate(&handle, bytes, &properties, 0) != CUDA_SUCCESS) return nullptr;
  if (cuMemMap(start, bytes, 0, handle, 0) != CUDA_SUCCESS) return nullptr;
  if (cuMemSetAccess(start, bytes, &access, 1) != CUDA_SUCCESS) return nullptr;
  return reinterpret_cast<void*>(start);
}

int main() {
  cudaFree(nullptr);
  void* plain;
  cudaMalloc(&plain, 64 << 20);
  cudaIpcMemHandle_t handle;
  if (cudaIpcGetMemHandle(&handle, plain) != cudaSuccess) return 77;
  void* mapped = map_buffer(64 << 20);
  if (!mapped) return 77;
  return cudaIpcGetMemHandle(&handle, mapped) != cudaSuccess;  // LAUNCH
}
