// A kernel node gets the length of a new, longer batch, but keeps the buffer of the old one.
__global__ void scale(float* x, size_t n, float factor) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x)
    x[i] *= factor;  // ACCESS
}

int main() {
  float *x, factor = 0.5f;
  size_t n = 1 << 20;
  cudaMalloc(&x, n * sizeof(float));  // ALLOC
  cudaMemset(x, 0, n * sizeof(float));
  cudaStream_t s;
  cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
  cudaGraph_t graph;
  cudaGraphExec_t replayable;
  cudaGraphNode_t node;
  void* arguments[] = {&x, &n, &factor};
  cudaKernelNodeParams parameters = {};
  parameters.func = reinterpret_cast<void*>(scale);
  parameters.gridDim = 512;
  parameters.blockDim = 256;
  parameters.kernelParams = arguments;
  cudaGraphCreate(&graph, 0);
  cudaGraphAddKernelNode(&node, graph, nullptr, 0, &parameters);  // LAUNCH
  cudaGraphInstantiate(&replayable, graph, 0);
  cudaGraphLaunch(replayable, s);
  cudaStreamSynchronize(s);
  n = size_t(1) << 32;
  cudaGraphExecKernelNodeSetParams(replayable, node, &parameters);  // LAUNCH
  cudaGraphLaunch(replayable, s);                                   // LAUNCH
  return cudaStreamSynchronize(s) != cudaSuccess;
}
