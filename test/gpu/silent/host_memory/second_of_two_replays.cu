// The same graph is launched twice. The event is recorded between the launches, so it says nothing of the second copy.
// Related: https://github.com/LuisaGroup/LuisaCompute/pull/248 (the fence is ahead of the copy)
#include "../bounded.cuh"

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const int count = 30'000;
  float *state = pinned<float>(count), *device = on_device<float>(count);
  cudaStream_t stream = new_stream();
  cudaEvent_t done = new_event();
  cudaGraphExec_t step = captured(stream, [&] {
    busy<<<1, 1, 0, stream>>>(ticks(0.1));
    cudaMemcpyAsync(device, state, count * sizeof(float), cudaMemcpyHostToDevice, stream);  // CAPTURE
  });
  cudaGraphLaunch(step, stream);
  if (!corrected) cudaEventRecord(done, stream);
  cudaGraphLaunch(step, stream);  // REPLAY
  if (corrected) cudaEventRecord(done, stream);
  cudaEventSynchronize(done);
  for (int i = 0; i < count / 2; ++i) state[i] = 2.0f * i;  // HOST
  return finished();
}
