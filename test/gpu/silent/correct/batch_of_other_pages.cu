// A batch copy fills free pages of a cache, between the pages that a kernel reads on another stream.
// Pattern: https://github.com/kvcache-ai/Mooncake/pull/1890
#include "../bounded.cuh"

__global__ void read_even_pages(const float* cache, float* out, int page) {
  const int i = blockIdx.y * page + threadIdx.x + blockIdx.x * blockDim.x;
  out[i] = cache[i + blockIdx.y * page];
}

int main() {
  const int page = 1024, pages = 8;
  float *cache = on_device<float>(pages * page), *stored = on_device<float>(page);
  float* out = on_device<float>(pages / 2 * page);
  cudaStream_t model = new_stream(), transfer = new_stream();
  void *to[4], *from[4];
  size_t sizes[4], first = 0;
  for (int k = 0; k < 4; ++k) to[k] = cache + (2 * k + 1) * page, from[k] = stored, sizes[k] = page * sizeof(float);
  cudaMemcpyAttributes attributes{};
  attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  read_even_pages<<<dim3(page / 256, pages / 2), 256, 0, model>>>(cache, out, page);
  cudaMemcpyBatchAsync(to, from, sizes, 4, &attributes, &first, 1, transfer);
  return finished();
}
