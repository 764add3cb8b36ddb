// The order between the first and the third stream comes from the second, which does not touch the memory.
// No public report.
#include "../bounded.cuh"

__global__ void fill(int* values, int what) { values[blockIdx.x * blockDim.x + threadIdx.x] = what; }

int main() {
  int* values = on_device<int>(1024);
  cudaStream_t first = new_stream(), middle = new_stream(), last = new_stream();
  cudaEvent_t filled = new_event(), passed = new_event();
  fill<<<4, 256, 0, first>>>(values, 1);
  cudaEventRecord(filled, first);
  cudaStreamWaitEvent(middle, filled);
  busy<<<1, 1, 0, middle>>>(ticks(0.01));
  cudaEventRecord(passed, middle);
  cudaStreamWaitEvent(last, passed);
  fill<<<4, 256, 0, last>>>(values, 2);
  return finished();
}
