// An engine prepares the ids of its next step before the replay of this step has copied its own.
// Report: https://github.com/NVIDIA/TensorRT-LLM/pull/14128
#include "../bounded.cuh"

__global__ void embed(const int* ids, float* hidden, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) hidden[i] = 0.5f * ids[i];
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const int count = 16'384;
  int *ids = pinned<int>(count), *on_gpu = on_device<int>(count);
  float* hidden = on_device<float>(count);
  cudaStream_t stream = new_stream();
  cudaEvent_t done = new_event();
  cudaGraphExec_t step = captured(stream, [&] {
    cudaMemcpyAsync(on_gpu, ids, count * sizeof(int), cudaMemcpyHostToDevice, stream);  // CAPTURE
    embed<<<count / 256, 256, 0, stream>>>(on_gpu, hidden, count);
  });
  busy<<<1, 1, 0, stream>>>(ticks(0.2));
  for (int k = 1; k <= 3; ++k) {
    if (corrected) cudaEventSynchronize(done);
    for (int i = 0; i < count; ++i) ids[i] = k + i;  // HOST
    cudaGraphLaunch(step, stream);                   // REPLAY
    cudaEventRecord(done, stream);
  }
  return finished();
}
