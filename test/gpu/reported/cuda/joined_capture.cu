// A captured stream hands work to a side stream and waits for it before the capture ends. The program succeeds.
__global__ void add(float* x) { x[blockIdx.x * blockDim.x + threadIdx.x] += 1; }

int main() {
  const int n = 1 << 20;
  float *x, *y;
  cudaMalloc(&x, n * sizeof(float));
  cudaMalloc(&y, n * sizeof(float));
  cudaMemset(x, 0, n * sizeof(float));
  cudaMemset(y, 0, n * sizeof(float));
  cudaDeviceSynchronize();
  cudaStream_t main_stream, side;
  cudaStreamCreateWithFlags(&main_stream, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
  cudaEvent_t fork, join;
  cudaEventCreateWithFlags(&fork, cudaEventDisableTiming);
  cudaEventCreateWithFlags(&join, cudaEventDisableTiming);
  cudaGraph_t graph;
  cudaGraphExec_t replayable;
  cudaStreamBeginCapture(main_stream, cudaStreamCaptureModeThreadLocal);
  cudaEventRecord(fork, main_stream);
  cudaStreamWaitEvent(side, fork, 0);
  add<<<n / 256, 256, 0, main_stream>>>(x);
  add<<<n / 256, 256, 0, side>>>(y);
  cudaEventRecord(join, side);
  cudaStreamWaitEvent(main_stream, join, 0);
  if (cudaStreamEndCapture(main_stream, &graph) != cudaSuccess) return 1;
  if (cudaGraphInstantiate(&replayable, graph, 0) != cudaSuccess) return 1;
  for (int i = 0; i < 10; i++) cudaGraphLaunch(replayable, main_stream);
  return cudaStreamSynchronize(main_stream) != cudaSuccess;
}
