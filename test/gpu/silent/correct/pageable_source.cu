// The source is pageable memory: the call returns once the data is staged, and the host may then overwrite it.
// Related: https://github.com/NVIDIA/cudf/issues/22284 (right before the buffer was pinned)
#include <vector>

#include "../bounded.cuh"

int main() {
  int read_in_place = 0;
  cudaDeviceGetAttribute(&read_in_place, cudaDevAttrPageableMemoryAccessUsesHostPageTables, 0);
  if (read_in_place) return 77;  // this GPU reads pageable memory directly, without staging
  std::vector<float> batch(200'000, 1.0F);
  const size_t bytes = batch.size() * sizeof(float);
  float* device = on_device<float>(batch.size());
  cudaStream_t stream = new_stream();
  for (int step = 0; step < 3; ++step) {
    busy<<<1, 1, 0, stream>>>(ticks(0.05));
    cudaMemcpyAsync(device, batch.data(), bytes, cudaMemcpyHostToDevice, stream);
    for (float& value : batch) value += 1;
  }
  return finished();
}
