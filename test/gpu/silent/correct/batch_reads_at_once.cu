// A batch copy that reads its sources during the call, so pinned memory may be written again as soon as the call
// returns.
// Related: https://github.com/NVIDIA/cudf/issues/21680
#include <cstring>

#include "../bounded.cuh"

int main() {
  const size_t part = 3000;
  char *block = pinned<char>(2 * part), *device = on_device<char>(2 * part);
  cudaStream_t stream = new_stream();
  void *to[2] = {device, device + part}, *from[2] = {block, block + part};
  size_t sizes[2] = {part, part}, first = 0;
  cudaMemcpyAttributes attributes{};
  attributes.srcAccessOrder = cudaMemcpySrcAccessOrderDuringApiCall;
  busy<<<1, 1, 0, stream>>>(ticks(0.1));
  if (cudaMemcpyBatchAsync(to, from, sizes, 2, &attributes, &first, 1, stream) != cudaSuccess) return 77;
  memset(block, 9, 2 * part);
  return finished();
}
