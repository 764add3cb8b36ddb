// A part of a pipeline has a graph of its own, and launches it while the whole pipeline is captured.
__global__ void step(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = x[i] * 0.5f + 1;
}

cudaGraphExec_t make_part(float* x, int n, cudaStream_t stream) {
  cudaGraph_t graph;
  cudaGraphExec_t exec = nullptr;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
  step<<<n / 256, 256, 0, stream>>>(x, n);
  cudaStreamEndCapture(stream, &graph);
  cudaGraphInstantiate(&exec, graph, 0);
  return exec;
}

int main() {
  const int n = 1 << 20;
  float* x;
  cudaStream_t stream;
  cudaMalloc(&x, n * sizeof(float));
  cudaMemset(x, 0, n * sizeof(float));
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  cudaGraphExec_t part = make_part(x, n, stream);
  if (cudaGraphLaunch(part, stream) != cudaSuccess || cudaStreamSynchronize(stream) != cudaSuccess) return 77;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
  step<<<n / 256, 256, 0, stream>>>(x, n);
  return cudaGraphLaunch(part, stream) != cudaSuccess;  // LAUNCH
}
