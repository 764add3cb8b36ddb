// An elastic cache gives the memory of one granule back while a request still has pages in it.
#include <cuda.h>

__global__ void attend(const float* cache, const int* pages, int page_size, float* out) {
  const float* page = cache + size_t(pages[blockIdx.x]) * page_size;
  float mine = 0;
  for (int i = threadIdx.x; i < page_size; i += blockDim.x) mine += page[i];  // ACCESS
  atomicAdd(out + blockIdx.x, mine);
}

int main() {
  const size_t granule = 32 << 20, granules = 8, page_size = 64 << 10;
  cudaFree(nullptr);
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  CUmemAccessDesc access = {properties.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  CUdeviceptr cache;
  CUmemGenericAllocationHandle handles[granules];
  if (cuMemAddressReserve(&cache, granule * granules, 0, 0, 0) != CUDA_SUCCESS) return 77;  // ALLOC
  for (size_t i = 0; i < granules; i++) {
    if (cuMemCreate(&handles[i], granule, &properties, 0) != CUDA_SUCCESS) return 77;  // ALLOC
    cuMemMap(cache + i * granule, granule, 0, handles[i], 0);                          // ALLOC
  }
  cuMemSetAccess(cache, granule * granules, &access, 1);
  cuMemsetD8(cache, 0, granule * granules);
  const int host[] = {3, 130, 700, 900};
  int* pages;
  float* out;
  cudaMalloc(&pages, sizeof host);
  cudaMalloc(&out, 4 * sizeof(float));
  cudaMemcpy(pages, host, sizeof host, cudaMemcpyHostToDevice);
  attend<<<4, 256>>>(reinterpret_cast<float*>(cache), pages, page_size, out);
  if (cudaDeviceSynchronize() != cudaSuccess) return 77;
  cuMemUnmap(cache + 5 * granule, granule);                                    // FREED
  cuMemRelease(handles[5]);                                                    // FREED
  attend<<<4, 256>>>(reinterpret_cast<float*>(cache), pages, page_size, out);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
