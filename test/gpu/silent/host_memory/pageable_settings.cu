// The source of a captured copy is an ordinary vector. Outside a graph, its bytes would be staged during the call; a
// replay gives no such promise.
// Related: https://github.com/pytorch/pytorch/pull/166765 (each replay reads the pageable source again)
#include <vector>

#include "../bounded.cuh"

int main(int argc, char**) {
  const bool corrected = argc > 1;
  std::vector<int> settings(200'000, 1);
  const size_t bytes = settings.size() * sizeof(int);
  int* device = on_device<int>(settings.size());
  cudaStream_t stream = new_stream();
  cudaGraphExec_t step = captured(stream, [&] {
    busy<<<1, 1, 0, stream>>>(ticks(0.2));
    cudaMemcpyAsync(device, settings.data(), bytes, cudaMemcpyHostToDevice, stream);  // CAPTURE
  });
  cudaGraphLaunch(step, stream);  // REPLAY
  if (corrected) cudaStreamSynchronize(stream);
  for (size_t i = 0; i < settings.size(); ++i) settings[i] = static_cast<int>(i) + 2;  // HOST
  return finished();
}
