// A handle for another process is asked for, but the event was not created for use between processes.
struct Signal {
  cudaEvent_t event = nullptr;
  cudaIpcEventHandle_t handle;

  bool create(unsigned flags) {
    if (cudaEventCreateWithFlags(&event, flags) != cudaSuccess) return false;
    return cudaIpcGetEventHandle(&handle, event) == cudaSuccess;  // LAUNCH
  }
};

__global__ void fill(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = 1;
}

int main() {
  const int n = 1 << 20;
  float* x;
  cudaMalloc(&x, n * sizeof(float));
  Signal shared, own;
  if (!shared.create(cudaEventDisableTiming | cudaEventInterprocess)) return 77;
  fill<<<n / 256, 256>>>(x, n);
  cudaEventRecord(shared.event);
  if (cudaDeviceSynchronize() != cudaSuccess) return 77;
  return own.create(cudaEventDisableTiming) ? 0 : 1;
}
