// While a stream is captured, it waits for an event that another stream recorded before, outside of the capture.
__global__ void add(float* x) { x[blockIdx.x * blockDim.x + threadIdx.x] += 1; }

int main() {
  const int n = 1 << 16;
  float* x;
  cudaMalloc(&x, n * sizeof(float));
  cudaMemset(x, 0, n * sizeof(float));
  cudaDeviceSynchronize();
  cudaStream_t compute, copies;
  cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&copies, cudaStreamNonBlocking);
  cudaEvent_t copied;
  cudaEventCreateWithFlags(&copied, cudaEventDisableTiming);
  add<<<n / 256, 256, 0, copies>>>(x);
  cudaEventRecord(copied, copies);
  cudaGraph_t graph;
  cudaStreamBeginCapture(compute, cudaStreamCaptureModeThreadLocal);
  if (cudaStreamWaitEvent(compute, copied, 0) != cudaSuccess) return 1;  // LAUNCH
  add<<<n / 256, 256, 0, compute>>>(x);
  return cudaStreamEndCapture(compute, &graph) != cudaSuccess;
}
