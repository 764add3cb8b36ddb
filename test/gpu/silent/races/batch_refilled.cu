// A batch of copies out of one pinned block; after the call, the host overwrites the source of the second one.
// Report: https://github.com/NVIDIA/cudf/issues/21680 (the source of a stream-ordered copy must not change)
#include <cstring>

#include "../bounded.cuh"

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const size_t part = 40'000;
  char *block = pinned<char>(3 * part), *device = on_device<char>(3 * part);
  cudaStream_t stream = new_stream();
  void *to[3], *from[3];
  size_t sizes[3], first = 0;
  for (int k = 0; k < 3; ++k) to[k] = device + k * part, from[k] = block + k * part, sizes[k] = part;
  cudaMemcpyAttributes attributes{};
  attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  busy<<<1, 1, 0, stream>>>(ticks(0.2));
  cudaMemcpyBatchAsync(to, from, sizes, 3, &attributes, &first, 1, stream);  // FIRST
  if (corrected) cudaStreamSynchronize(stream);
  memset(block + part, 9, part / 2);  // HOST
  return finished();
}
