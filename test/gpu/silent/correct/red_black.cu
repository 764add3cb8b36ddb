// Red and black cells of a grid are updated on two streams, one after the other, ordered by events.
// No public report.
#include "../bounded.cuh"

__global__ void relax(float* cells, int width, int height, int colour) {
  const int x = 1 + blockIdx.x * blockDim.x + threadIdx.x, y = 1 + blockIdx.y;
  if (x >= width - 1 || y >= height - 1 || (x + y) % 2 != colour) return;
  float* c = cells + y * width + x;
  *c = (c[-1] + c[1] + c[-width] + c[width]) / 4;
}

int main() {
  const int width = 258, height = 66;
  float* cells = on_device<float>(width * height);
  cudaStream_t streams[2] = {new_stream(), new_stream()};
  cudaEvent_t done[2] = {new_event(), new_event()};
  for (int step = 0; step < 6; ++step) {
    const int colour = step % 2;
    if (step > 0) cudaStreamWaitEvent(streams[colour], done[1 - colour]);
    relax<<<dim3(2, height - 2), 128, 0, streams[colour]>>>(cells, width, height, colour);
    cudaEventRecord(done[colour], streams[colour]);
  }
  return finished();
}
