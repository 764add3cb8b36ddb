// One stream finished its work long ago, and another is busy for six seconds.
// No public report.
#include "../bounded.cuh"

__global__ void add(int* values, int what) { values[threadIdx.x] += what; }

int main() {
  int* values = on_device<int>(256);
  cudaStream_t idle = new_stream(), working = new_stream();
  add<<<1, 256, 0, idle>>>(values, 1);
  const long long most = ticks(0.2);
  for (int step = 0; step < 30; ++step) {
    busy<<<1, 1, 0, working>>>(most);
    if (step % 5 == 4) cudaStreamSynchronize(working);
  }
  return finished();
}
