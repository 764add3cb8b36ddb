// A camera's frame is copied row by row with a pitch, and its timestamp row is rewritten before the copy has begun.
// Related: https://github.com/vllm-project/vllm/pull/24527 (reused host memory is not protected from the next step)
#include <cstring>

#include "../bounded.cuh"

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const size_t width = 1000, rows = 120, host_pitch = 1024;
  unsigned char *frame = pinned<unsigned char>(host_pitch * rows), *device;
  size_t pitch;
  cudaMallocPitch(&device, &pitch, width, rows);
  cudaStream_t stream = new_stream();
  busy<<<1, 1, 0, stream>>>(ticks(0.2));
  cudaMemcpy2DAsync(device, pitch, frame, host_pitch, width, rows, cudaMemcpyHostToDevice, stream);  // FIRST
  if (corrected) cudaStreamSynchronize(stream);
  memset(frame + 100 * host_pitch, 0x55, 64);  // HOST
  return finished();
}
