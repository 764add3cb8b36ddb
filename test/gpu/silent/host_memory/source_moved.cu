// Each step moves the node's source to the other half of a pinned buffer. The host then fills the half that the queued
// copy reads, not the other one.
// Pattern: https://github.com/karpathy/llm.c/pull/556 (two halves of one pinned buffer take turns)
#include "../bounded.cuh"

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const size_t half = 10'000, bytes = half * sizeof(double);
  double *source = pinned<double>(2 * half), *device = on_device<double>(half);
  cudaGraph_t graph;
  cudaGraphExec_t replay;
  cudaGraphNode_t copy;
  cudaGraphCreate(&graph, 0);
  cudaGraphAddMemcpyNode1D(&copy, graph, nullptr, 0, device, source, bytes, cudaMemcpyHostToDevice);  // CAPTURE
  cudaGraphInstantiate(&replay, graph, 0);
  cudaStream_t stream = new_stream();
  for (size_t step = 0; step < 2; ++step) {
    double* read = source + step % 2 * half;
    double* filled = corrected ? source + (step + 1) % 2 * half : read;
    cudaGraphExecMemcpyNodeSetParams1D(replay, copy, device, read, bytes, cudaMemcpyHostToDevice);  // CAPTURE
    busy<<<1, 1, 0, stream>>>(ticks(0.1));
    cudaGraphLaunch(replay, stream);                                      // REPLAY
    for (size_t i = 0; i < half; ++i) filled[i] = 0.25 * (step + i + 2);  // HOST
    cudaStreamSynchronize(stream);
  }
  return finished();
}
