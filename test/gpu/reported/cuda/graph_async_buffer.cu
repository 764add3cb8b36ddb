// A buffer of one step is part of a captured graph; it is given back before the graph is replayed.
__global__ void fill(float* x, int n, float value) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) x[i] = value;  // ACCESS
}

int main() {
  const int n = 16 << 20;
  cudaStream_t s;
  cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
  float* step;
  if (cudaMallocAsync(&step, n * sizeof(float), s) != cudaSuccess) return 77;  // ALLOC
  cudaGraph_t graph;
  cudaGraphExec_t replayable;
  cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal);
  fill<<<256, 256, 0, s>>>(step, n, 1.0f);  // LAUNCH
  cudaStreamEndCapture(s, &graph);
  cudaGraphInstantiate(&replayable, graph, 0);
  cudaGraphLaunch(replayable, s);
  cudaFreeAsync(step, s);  // FREED
  cudaStreamSynchronize(s);
  cudaMemPool_t pool;
  cudaDeviceGetDefaultMemPool(&pool, 0);
  cudaMemPoolTrimTo(pool, 0);
  cudaGraphLaunch(replayable, s);  // LAUNCH
  return cudaStreamSynchronize(s) != cudaSuccess;
}
