// The kernel is a node of a graph, and its argument points to mapped memory that the host prepares for the next replay.
// Related: https://github.com/NVIDIA/TensorRT-LLM/pull/14128
#include "../bounded.cuh"

__global__ void accept(const int4* drafts, int* accepted, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const int4 draft = drafts[i];  // READS
  accepted[i] = (draft.x == draft.y) + (draft.z == draft.w);
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const int count = 2000;
  int4* drafts;
  cudaHostAlloc(&drafts, count * sizeof *drafts, cudaHostAllocMapped);
  for (int i = 0; i < count; ++i) drafts[i] = {i, i, i, 0};
  int* accepted = on_device<int>(count);
  cudaStream_t stream = new_stream();
  cudaGraphExec_t verify = captured(stream, [&] {
    busy<<<1, 1, 0, stream>>>(ticks(0.1));
    accept<<<(count + 127) / 128, 128, 0, stream>>>(drafts, accepted, count);  // CAPTURE
  });
  for (int step = 0; step < 3; ++step) {
    cudaGraphLaunch(verify, stream);  // REPLAY
    if (corrected) cudaStreamSynchronize(stream);
    for (int i = 0; i < count / 2; ++i) drafts[i] = {step + 2, i, i + step, 1};  // HOST
  }
  return finished();
}
