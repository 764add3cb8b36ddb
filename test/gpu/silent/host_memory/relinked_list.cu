// Threads follow links in mapped memory. The host takes one node out of the list while the kernel is queued.
// No public report.
#include "../bounded.cuh"

__global__ void walk(const int* next, int steps, int* ends) {
  int node = blockIdx.x * blockDim.x + threadIdx.x;
  for (int i = 0; i < steps; ++i) node = next[node];  // READS
  ends[blockIdx.x * blockDim.x + threadIdx.x] = node;
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const int nodes = 1024;
  int *next = mapped<int>(nodes), *ends = on_device<int>(nodes);
  for (int i = 0; i < nodes; ++i) next[i] = (i + 1) % nodes;
  cudaStream_t stream = new_stream();
  busy<<<1, 1, 0, stream>>>(ticks(0.2));
  walk<<<nodes / 128, 128, 0, stream>>>(next, 20, ends);  // LAUNCH
  if (corrected) cudaStreamSynchronize(stream);
  next[500] = next[501];  // HOST
  return finished();
}
