// A graph clears a buffer with a memset node; the buffer was freed between two replays.
__global__ void count(const int* values, int* counts) { atomicAdd(&counts[values[threadIdx.x] & 1023], 1); }

int main() {
  const size_t bytes = 64 << 20;
  int *values, *counts;
  cudaMalloc(&values, 256 * sizeof(int));
  cudaMalloc(&counts, bytes);  // ALLOC
  cudaMemset(values, 0, 256 * sizeof(int));
  cudaStream_t s;
  cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
  cudaGraph_t graph;
  cudaGraphExec_t replayable;
  cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal);
  cudaMemsetAsync(counts, 0, bytes, s);  // LAUNCH
  count<<<1, 256, 0, s>>>(values, counts);
  cudaStreamEndCapture(s, &graph);
  cudaGraphInstantiate(&replayable, graph, 0);
  cudaGraphLaunch(replayable, s);
  cudaStreamSynchronize(s);
  cudaFree(counts);                // FREED
  cudaGraphLaunch(replayable, s);  // LAUNCH
  return cudaStreamSynchronize(s) != cudaSuccess;
}
