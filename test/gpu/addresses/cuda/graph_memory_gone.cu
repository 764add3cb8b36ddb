// Memory that a graph allocates and frees itself is used after the graph has finished.
__global__ void set(float* p, float value) { p[threadIdx.x] = value; }  // ACCESS

int main() {
  cudaStream_t s;
  cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
  float *inside, *outside;
  cudaMalloc(&outside, 4096);
  set<<<1, 32, 0, s>>>(outside, 0);
  cudaGraph_t graph;
  cudaGraphExec_t replayable;
  cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal);
  cudaMallocAsync(&inside, 64 << 20, s);  // ALLOC
  set<<<1, 32, 0, s>>>(inside, 1);
  cudaFreeAsync(inside, s);  // FREED
  cudaStreamEndCapture(s, &graph);
  cudaGraphInstantiate(&replayable, graph, 0);
  cudaGraphLaunch(replayable, s);
  cudaStreamSynchronize(s);
  cudaGraphExecDestroy(replayable);
  cudaGraphDestroy(graph);
  cudaDeviceGraphMemTrim(0);
  set<<<1, 32, 0, s>>>(inside, 2);  // LAUNCH
  return cudaStreamSynchronize(s) != cudaSuccess;
}
