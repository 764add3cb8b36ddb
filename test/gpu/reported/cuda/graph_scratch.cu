// Correct: a graph allocates scratch memory and frees it, and each replay does so again.
__global__ void square(const float* x, float* scratch) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  scratch[i] = x[i] * x[i];
}

__global__ void add(const float* scratch, float* sum) {
  atomicAdd(sum, scratch[blockIdx.x * blockDim.x + threadIdx.x]);
}

int main() {
  const int n = 1 << 20;
  float *x, *sum, *scratch;
  cudaMalloc(&x, n * sizeof(float));
  cudaMalloc(&sum, sizeof(float));
  cudaMemset(x, 0, n * sizeof(float));
  cudaMemset(sum, 0, sizeof(float));
  cudaStream_t s;
  cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
  cudaGraph_t graph;
  cudaGraphExec_t replayable;
  cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal);
  cudaMallocAsync(&scratch, n * sizeof(float), s);
  square<<<n / 256, 256, 0, s>>>(x, scratch);
  add<<<n / 256, 256, 0, s>>>(scratch, sum);
  cudaFreeAsync(scratch, s);
  cudaStreamEndCapture(s, &graph);
  cudaGraphInstantiate(&replayable, graph, 0);
  for (int replay = 0; replay < 10; replay++) cudaGraphLaunch(replayable, s);
  return cudaStreamSynchronize(s) != cudaSuccess;
}
