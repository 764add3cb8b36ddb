// A capture is begun in the default stream, where it is not allowed.
__global__ void step(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = x[i] * 0.5f + 1;
}

struct Recorder {
  cudaStream_t stream = nullptr;
  cudaGraphExec_t exec = nullptr;

  cudaError_t record(float* x, int n) {
    cudaGraph_t graph;
    cudaError_t error = cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);  // LAUNCH
    if (error != cudaSuccess) return error;
    step<<<n / 256, 256, 0, stream>>>(x, n);
    cudaStreamEndCapture(stream, &graph);
    return cudaGraphInstantiate(&exec, graph, 0);
  }
};

int main() {
  const int n = 1 << 20;
  float* x;
  cudaMalloc(&x, n * sizeof(float));
  cudaMemset(x, 0, n * sizeof(float));
  step<<<n / 256, 256>>>(x, n);
  if (cudaDeviceSynchronize() != cudaSuccess) return 77;
  Recorder recorder;
  return recorder.record(x, n) != cudaSuccess;
}
