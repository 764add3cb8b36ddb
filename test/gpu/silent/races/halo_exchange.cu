// A stencil on two halves on two streams: the second step reads the other half's edge rows without waiting for them.
// Report: https://github.com/ghex-org/GHEX/pull/224
#include "../bounded.cuh"

__global__ void smooth(const float* in, float* out, int width, int first, int last) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = first + blockIdx.y;
  if (x < width && y < last) {
    out[y * width + x] = (in[(y - 1) * width + x] + in[y * width + x] + in[(y + 1) * width + x]) / 3;
  }
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const int width = 512, rows = 64, middle = rows / 2;
  float *now = on_device<float>(width * rows), *next = on_device<float>(width * rows);
  cudaStream_t upper = new_stream(), lower = new_stream();
  cudaEvent_t upper_done = new_event(), lower_done = new_event();
  const dim3 above(width / 128, middle - 1), below(width / 128, rows - 1 - middle);
  smooth<<<above, 128, 0, upper>>>(now, next, width, 1, middle);         // FIRST_2
  smooth<<<below, 128, 0, lower>>>(now, next, width, middle, rows - 1);  // FIRST
  cudaEventRecord(upper_done, upper);
  cudaEventRecord(lower_done, lower);
  if (corrected) {
    cudaStreamWaitEvent(upper, lower_done);
    cudaStreamWaitEvent(lower, upper_done);
  }
  smooth<<<above, 128, 0, upper>>>(next, now, width, 1, middle);         // SECOND
  smooth<<<below, 128, 0, lower>>>(next, now, width, middle, rows - 1);  // SECOND_2
  return finished();
}
