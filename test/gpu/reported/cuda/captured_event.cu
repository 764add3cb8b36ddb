// The host waits for an event that was recorded in a captured stream, so it belongs to the graph.
__global__ void step(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = x[i] * 0.5f + 1;
}

bool iterate(float* x, int n, cudaStream_t stream, cudaEvent_t done) {
  step<<<n / 256, 256, 0, stream>>>(x, n);
  cudaEventRecord(done, stream);
  return cudaEventSynchronize(done) == cudaSuccess;  // LAUNCH
}

int main() {
  const int n = 1 << 20;
  float* x;
  cudaStream_t stream;
  cudaEvent_t done;
  cudaGraph_t graph;
  cudaMalloc(&x, n * sizeof(float));
  cudaMemset(x, 0, n * sizeof(float));
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
  if (!iterate(x, n, stream, done)) return 77;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
  if (!iterate(x, n, stream, done)) return 1;
  cudaStreamEndCapture(stream, &graph);
  return 0;
}
