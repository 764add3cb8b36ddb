// A row-wise copy skips the padding of the host's rows, and the host writes only there.
// No public report.
#include <cstring>

#include "../bounded.cuh"

int main() {
  const size_t width = 1000, pitch = 1024, rows = 100;
  char *frame = pinned<char>(pitch * rows), *device = on_device<char>(width * rows);
  cudaStream_t stream = new_stream();
  busy<<<1, 1, 0, stream>>>(ticks(0.1));
  cudaMemcpy2DAsync(device, width, frame, pitch, width, rows, cudaMemcpyHostToDevice, stream);
  for (size_t row = 0; row < rows; ++row) memset(frame + row * pitch + width, 0x77, pitch - width);
  return finished();
}
