// The graph was captured in one stream and is launched in another; the host waits for the first one.
// Related: https://github.com/AcademySoftwareFoundation/openvdb/pull/2287
#include "../bounded.cuh"

__global__ void scale(float* values, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] *= 0.5f;
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const int count = 12'800;
  float *batch = pinned<float>(count), *device = on_device<float>(count);
  cudaStream_t recording = new_stream(), serving = new_stream();
  cudaGraphExec_t step = captured(recording, [&] {
    cudaMemcpyAsync(device, batch, count * sizeof(float), cudaMemcpyHostToDevice, recording);  // CAPTURE
    scale<<<count / 256, 256, 0, recording>>>(device, count);
  });
  busy<<<1, 1, 0, serving>>>(ticks(0.2));
  cudaGraphLaunch(step, serving);  // REPLAY
  cudaStreamSynchronize(corrected ? serving : recording);
  for (int i = 0; i < count; ++i) batch[i] = 0.125f * i + 3;  // HOST
  return finished();
}
