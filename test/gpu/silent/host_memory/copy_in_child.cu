// The copy is a node of a child graph, which the parent runs after a long kernel.
// Related: https://github.com/NVIDIA/TensorRT-LLM/pull/14128
#include "../bounded.cuh"

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const int count = 5000;
  int *lengths = pinned<int>(count), *device = on_device<int>(count);
  cudaStream_t stream = new_stream();
  cudaGraph_t parent, child;
  cudaGraphExec_t replay;
  cudaGraphNode_t inner, tail;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  cudaMemcpyAsync(device, lengths, count * sizeof(int), cudaMemcpyHostToDevice, stream);  // CAPTURE
  cudaStreamEndCapture(stream, &child);
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  busy<<<1, 1, 0, stream>>>(ticks(0.2));
  cudaStreamEndCapture(stream, &parent);
  size_t nodes = 1;
  cudaGraphGetNodes(parent, &tail, &nodes);
  cudaGraphAddChildGraphNode(&inner, parent, &tail, 1, child);
  cudaGraphInstantiate(&replay, parent, 0);
  cudaGraphLaunch(replay, stream);  // REPLAY
  if (corrected) cudaStreamSynchronize(stream);
  for (int i = 0; i < count; ++i) lengths[i] += 16;  // HOST
  return finished();
}
