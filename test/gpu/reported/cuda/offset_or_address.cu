// A page table holds addresses of pages since a new version; the kernel still takes them for offsets in the cache.
#include <vector>

__global__ void gather(const char* cache, const unsigned long long* pages, float* out, int width) {
  const float* page = reinterpret_cast<const float*>(cache + pages[blockIdx.x]);
  out[blockIdx.x * width + threadIdx.x] = page[threadIdx.x];  // ACCESS
}

int main() {
  const int pages = 64, width = 256;
  const size_t page_size = 1 << 20;
  char* cache;
  unsigned long long* table;
  float* out;
  cudaMalloc(&cache, pages * page_size);
  cudaMalloc(&table, pages * sizeof(*table));
  cudaMalloc(&out, pages * width * sizeof(float));
  cudaMemset(cache, 0, pages * page_size);
  std::vector<unsigned long long> entries(pages);
  for (int i = 0; i < pages; i++) entries[i] = reinterpret_cast<unsigned long long>(cache) + i * page_size;
  cudaMemcpy(table, entries.data(), pages * sizeof(*table), cudaMemcpyHostToDevice);
  gather<<<pages, width>>>(cache, table, out, width);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
