// Correct: a captured buffer is freed, but its node gets a new buffer before the next replay.
__global__ void add(float* sum, const float* x) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  sum[i] += x[i];
}

int main() {
  const int n = 16 << 20;
  float *sum, *x, *larger;
  cudaMalloc(&sum, n * sizeof(float));
  cudaMalloc(&x, n * sizeof(float));
  cudaMemset(sum, 0, n * sizeof(float));
  cudaMemset(x, 0, n * sizeof(float));
  cudaStream_t s;
  cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
  cudaGraph_t graph;
  cudaGraphExec_t replayable;
  cudaGraphNode_t node;
  void* arguments[] = {&sum, &x};
  cudaKernelNodeParams parameters = {};
  parameters.func = reinterpret_cast<void*>(add);
  parameters.gridDim = n / 256;
  parameters.blockDim = 256;
  parameters.kernelParams = arguments;
  cudaGraphCreate(&graph, 0);
  cudaGraphAddKernelNode(&node, graph, nullptr, 0, &parameters);
  cudaGraphInstantiate(&replayable, graph, 0);
  cudaGraphLaunch(replayable, s);
  cudaStreamSynchronize(s);
  cudaMalloc(&larger, 2 * n * sizeof(float));
  cudaMemset(larger, 0, 2 * n * sizeof(float));
  cudaFree(x);
  x = larger;
  cudaGraphExecKernelNodeSetParams(replayable, node, &parameters);
  cudaGraphLaunch(replayable, s);
  return cudaStreamSynchronize(s) != cudaSuccess;
}
