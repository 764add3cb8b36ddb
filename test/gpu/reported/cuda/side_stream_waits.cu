// A second stream uses a buffer, and the first one releases it only after an event of the second.
// The program succeeds.
__global__ void fill(float* x, int n, float value) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) x[i] = value;
}

int main() {
  const int n = 16 << 20;
  cudaStream_t owner, user;
  cudaStreamCreateWithFlags(&owner, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&user, cudaStreamNonBlocking);
  cudaEvent_t ready, used;
  cudaEventCreateWithFlags(&ready, cudaEventDisableTiming);
  cudaEventCreateWithFlags(&used, cudaEventDisableTiming);
  for (int step = 0; step < 8; step++) {
    float* x;
    if (cudaMallocAsync(&x, n * sizeof(float), owner) != cudaSuccess) return 77;
    fill<<<256, 256, 0, owner>>>(x, n, 0);
    cudaEventRecord(ready, owner);
    cudaStreamWaitEvent(user, ready, 0);
    fill<<<256, 256, 0, user>>>(x, n, step);
    cudaEventRecord(used, user);
    cudaStreamWaitEvent(owner, used, 0);
    cudaFreeAsync(x, owner);
  }
  return cudaStreamSynchronize(owner) != cudaSuccess || cudaStreamSynchronize(user) != cudaSuccess;
}
