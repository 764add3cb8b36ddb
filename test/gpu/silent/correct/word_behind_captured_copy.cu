// A graph copies its input, and then a word into mapped memory. The host polls the word, and fills the input again while
// the rest of the graph still runs.
// No public report.
#include <chrono>

#include "../bounded.cuh"

int main() {
  const int count = 10'000;
  int *input = pinned<int>(count), *device = on_device<int>(count);
  volatile int* seen = mapped<int>(1);
  cudaStream_t stream = new_stream();
  cudaGraphExec_t replay = captured(stream, [&] {
    cudaMemcpyAsync(device, input, count * sizeof(int), cudaMemcpyHostToDevice, stream);
    cudaMemcpyAsync(const_cast<int*>(seen), device, sizeof(int), cudaMemcpyDeviceToHost, stream);
    busy<<<1, 1, 0, stream>>>(ticks(0.1));
  });
  for (int step = 2; step < 6; ++step) {
    for (int i = 0; i < count; ++i) input[i] = step + i;
    cudaGraphLaunch(replay, stream);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (*seen != step) {
      if (std::chrono::steady_clock::now() > end) return 77;
    }
    for (int i = 0; i < count; ++i) input[i] = -i;
    cudaStreamQuery(stream);
    cudaStreamSynchronize(stream);
  }
  return finished();
}
