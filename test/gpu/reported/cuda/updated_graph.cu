// A graph is updated from a second capture, whose input is a temporary buffer of the function that captured it.
__global__ void add(float* sum, const float* x) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  sum[i] += x[i];  // ACCESS
}

struct Temporary {
  float* data;
  explicit Temporary(size_t bytes) { cudaMalloc(&data, bytes); }  // ALLOC
  ~Temporary() { cudaFree(data); }                                // FREED
};

cudaGraph_t captured(cudaStream_t s, float* sum, const float* x, int n) {
  cudaGraph_t graph;
  cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal);
  add<<<n / 256, 256, 0, s>>>(sum, x);  // LAUNCH
  cudaStreamEndCapture(s, &graph);
  return graph;
}

void update(cudaGraphExec_t replayable, cudaStream_t s, float* sum, int n) {
  Temporary x(n * sizeof(float));
  cudaMemset(x.data, 0, n * sizeof(float));
  cudaGraph_t next = captured(s, sum, x.data, n);
  cudaGraphExecUpdateResultInfo result;
  cudaGraphExecUpdate(replayable, next, &result);
  cudaGraphLaunch(replayable, s);
  cudaStreamSynchronize(s);
}

int main() {
  const int n = 16 << 20;
  float *sum, *x;
  cudaMalloc(&sum, n * sizeof(float));
  cudaMalloc(&x, n * sizeof(float));
  cudaStream_t s;
  cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
  cudaGraphExec_t replayable;
  cudaGraphInstantiate(&replayable, captured(s, sum, x, n), 0);
  cudaGraphLaunch(replayable, s);
  update(replayable, s, sum, n);
  cudaGraphLaunch(replayable, s);  // LAUNCH
  return cudaStreamSynchronize(s) != cudaSuccess;
}
