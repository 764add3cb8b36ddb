// A stream waits six seconds for an event of another stream, which is still working through its queue.
// No public report.
#include "../bounded.cuh"

__global__ void add(int* values, int what) { values[threadIdx.x] += what; }

int main() {
  int* values = on_device<int>(256);
  cudaStream_t first = new_stream(), second = new_stream();
  cudaEvent_t done = new_event();
  const long long most = ticks(0.5);
  for (int step = 0; step < 12; ++step) busy<<<1, 1, 0, first>>>(most);
  cudaEventRecord(done, first);
  cudaStreamWaitEvent(second, done);
  add<<<1, 256, 0, second>>>(values, 1);
  cudaStreamSynchronize(second);
  return finished();
}
