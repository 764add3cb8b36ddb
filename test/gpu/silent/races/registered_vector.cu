// A std::vector that is registered with CUDA is reordered before its copy has begun.
// Related: https://github.com/NVIDIA/DALI/pull/1493 (the next iteration overwrites a host buffer under a copy)
#include <algorithm>
#include <numeric>
#include <vector>

#include "../bounded.cuh"

int main(int argc, char**) {
  const bool corrected = argc > 1;
  std::vector<int> order(100'000);
  std::iota(order.begin(), order.end(), 0);
  const size_t bytes = order.size() * sizeof(int);
  cudaHostRegister(order.data(), bytes, cudaHostRegisterDefault);
  int* device = on_device<int>(order.size());
  cudaStream_t stream = new_stream();
  busy<<<1, 1, 0, stream>>>(ticks(0.2));
  cudaMemcpyAsync(device, order.data(), bytes, cudaMemcpyHostToDevice, stream);  // FIRST
  if (corrected) cudaStreamSynchronize(stream);
  std::reverse(order.begin(), order.end());  // HOST
  const int status = finished();
  cudaHostUnregister(order.data());
  return status;
}
