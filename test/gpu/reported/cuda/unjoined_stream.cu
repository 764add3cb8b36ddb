// A captured stream hands work to a side stream, but does not wait for it before the capture ends.
__global__ void add(float* x) { x[blockIdx.x * blockDim.x + threadIdx.x] += 1; }

int main() {
  const int n = 1 << 16;
  float *x, *y;
  cudaMalloc(&x, n * sizeof(float));
  cudaMalloc(&y, n * sizeof(float));
  cudaMemset(x, 0, n * sizeof(float));
  cudaMemset(y, 0, n * sizeof(float));
  cudaDeviceSynchronize();
  cudaStream_t main_stream, side;
  cudaStreamCreateWithFlags(&main_stream, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
  cudaEvent_t fork;
  cudaEventCreateWithFlags(&fork, cudaEventDisableTiming);
  cudaGraph_t graph;
  cudaStreamBeginCapture(main_stream, cudaStreamCaptureModeThreadLocal);
  cudaEventRecord(fork, main_stream);
  cudaStreamWaitEvent(side, fork, 0);
  add<<<n / 256, 256, 0, main_stream>>>(x);
  add<<<n / 256, 256, 0, side>>>(y);
  return cudaStreamEndCapture(main_stream, &graph) != cudaSuccess;  // LAUNCH
}
