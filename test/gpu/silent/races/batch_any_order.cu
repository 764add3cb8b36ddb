// A batch copy that may read its sources in any order follows, on the same stream, the kernel that writes them.
// Report: https://github.com/vllm-project/vllm/pull/39306
#include "../bounded.cuh"

__global__ void write_cache(int* cache, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) cache[i] = i;
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const int count = 1 << 16;
  int *cache = on_device<int>(count), *host = pinned<int>(count);
  cudaStream_t stream = new_stream();
  void *to[1] = {host}, *from[1] = {cache};
  size_t sizes[1] = {count * sizeof(int)}, first = 0;
  cudaMemcpyAttributes attributes{};
  attributes.srcAccessOrder = corrected ? cudaMemcpySrcAccessOrderStream : cudaMemcpySrcAccessOrderAny;
  write_cache<<<count / 256, 256, 0, stream>>>(cache, count);                // FIRST
  cudaMemcpyBatchAsync(to, from, sizes, 1, &attributes, &first, 1, stream);  // SECOND
  return finished();
}
