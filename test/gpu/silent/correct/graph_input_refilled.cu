// A graph copies its input from pinned memory at each replay; the host refills it after the replay has finished.
// Pattern: https://github.com/microsoft/onnxruntime/pull/32121
#include "../bounded.cuh"

int main() {
  const int count = 20'000;
  float *input = pinned<float>(count), *device = on_device<float>(count);
  cudaStream_t stream = new_stream();
  cudaGraph_t graph;
  cudaGraphExec_t replay;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  cudaMemcpyAsync(device, input, count * sizeof(float), cudaMemcpyHostToDevice, stream);
  cudaStreamEndCapture(stream, &graph);
  cudaGraphInstantiate(&replay, graph, 0);
  for (int step = 0; step < 4; ++step) {
    for (int i = 0; i < count; ++i) input[i] = static_cast<float>(step * i);
    cudaGraphLaunch(replay, stream);
    cudaStreamSynchronize(stream);
  }
  return finished();
}
