// A captured copy reads a temporary buffer, which is freed before the second replay.
__global__ void scale(float* x, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= factor;
}

cudaGraphExec_t build(float* weights, const float* loaded, int n, cudaStream_t stream) {
  cudaGraph_t graph;
  cudaGraphExec_t exec = nullptr;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
  cudaMemcpyAsync(weights, loaded, n * sizeof(float), cudaMemcpyDeviceToDevice, stream);  // LAUNCH
  scale<<<n / 256, 256, 0, stream>>>(weights, n, 0.5f);
  cudaStreamEndCapture(stream, &graph);
  cudaGraphInstantiate(&exec, graph, 0);
  return exec;
}

int main() {
  const int n = 16 << 20;
  float *weights, *loaded;
  cudaStream_t stream;
  cudaMalloc(&weights, n * sizeof(float));
  cudaMalloc(&loaded, n * sizeof(float));  // ALLOC
  cudaMemset(loaded, 0, n * sizeof(float));
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  cudaGraphExec_t exec = build(weights, loaded, n, stream);
  if (!exec || cudaGraphLaunch(exec, stream) != cudaSuccess) return 77;
  if (cudaStreamSynchronize(stream) != cudaSuccess) return 77;
  cudaFree(loaded);                                            // FREED
  if (cudaGraphLaunch(exec, stream) != cudaSuccess) return 1;  // LAUNCH
  return cudaStreamSynchronize(stream) != cudaSuccess;
}
