// An executable graph is updated with a graph that has one more kernel, and the failure is not expected.
__global__ void scale(float* x, float factor) { x[blockIdx.x * blockDim.x + threadIdx.x] *= factor; }

cudaGraph_t capture(cudaStream_t stream, float* x, int kernels) {
  cudaGraph_t graph;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  for (int i = 0; i < kernels; i++) scale<<<256, 256, 0, stream>>>(x, 0.5f);
  cudaStreamEndCapture(stream, &graph);
  return graph;
}

int main() {
  float* x;
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaMalloc(&x, 65536 * sizeof(float));
  cudaMemset(x, 0, 65536 * sizeof(float));
  cudaGraphExec_t exec;
  if (cudaGraphInstantiate(&exec, capture(stream, x, 3), 0) != cudaSuccess) return 77;
  cudaGraphLaunch(exec, stream);
  if (cudaStreamSynchronize(stream) != cudaSuccess) return 77;
  cudaGraphExecUpdateResultInfo info;
  if (cudaGraphExecUpdate(exec, capture(stream, x, 4), &info) != cudaSuccess) return 1;  // LAUNCH
  cudaGraphLaunch(exec, stream);
  return cudaStreamSynchronize(stream) != cudaSuccess;
}
