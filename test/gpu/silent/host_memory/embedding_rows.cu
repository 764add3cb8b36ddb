// A graph uploads some columns of a pinned table, with a pitch. The host updates the last row after the launch.
// Related: https://github.com/invergent-ai/surogate/issues/124
#include "../bounded.cuh"

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const size_t columns = 96, taken = 64, rows = 200;
  float *table = pinned<float>(columns * rows), *device;
  size_t pitch;
  cudaMallocPitch(&device, &pitch, taken * sizeof(float), rows);
  cudaStream_t stream = new_stream();
  cudaGraphExec_t upload = captured(stream, [&] {
    cudaMemcpy2DAsync(device, pitch, table, columns * sizeof(float), taken * sizeof(float), rows,  // CAPTURE
                      cudaMemcpyHostToDevice, stream);                                             // CAPTURE
  });
  busy<<<1, 1, 0, stream>>>(ticks(0.2));
  cudaGraphLaunch(upload, stream);  // REPLAY
  if (corrected) cudaStreamSynchronize(stream);
  for (size_t i = 0; i < columns; ++i) table[(rows - 1) * columns + i] = 0.5f * i;  // HOST
  return finished();
}
