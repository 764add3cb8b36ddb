// A buffer that a graph allocates and frees itself is read after the graph is gone.
__global__ void fill(float* x, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) x[i] = 1;
}

__global__ void total(const float* x, int n, float* sum) {
  float mine = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) mine += x[i];  // ACCESS
  atomicAdd(sum, mine);
}

int main() {
  const int n = 16 << 20;
  float *sum, *result;
  cudaMalloc(&sum, sizeof(float));
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
  if (cudaMallocAsync(&result, n * sizeof(float), stream) != cudaSuccess) return 77;  // ALLOC
  fill<<<256, 256, 0, stream>>>(result, n);
  total<<<256, 256, 0, stream>>>(result, n, sum);
  cudaFreeAsync(result, stream);  // FREED
  cudaStreamEndCapture(stream, &graph);
  if (cudaGraphInstantiate(&exec, graph, 0) != cudaSuccess) return 77;
  cudaGraphLaunch(exec, stream);
  if (cudaStreamSynchronize(stream) != cudaSuccess) return 77;
  cudaGraphExecDestroy(exec);                      // FREED
  cudaGraphDestroy(graph);                         // FREED
  cudaDeviceGraphMemTrim(0);                       // FREED
  total<<<256, 256, 0, stream>>>(result, n, sum);  // LAUNCH
  return cudaStreamSynchronize(stream) != cudaSuccess;
}
