// Correct: blocks of a stream-ordered pool are freed and given out again, often at the same address.
__global__ void fill(float* x, float value) { x[blockIdx.x * blockDim.x + threadIdx.x] = value; }

__global__ void add(float* sum, const float* x) { sum[blockIdx.x * blockDim.x + threadIdx.x] += x[threadIdx.x]; }

int main() {
  const int n = 1 << 20;
  float* sum;
  cudaStream_t s;
  cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
  cudaMallocAsync(&sum, n * sizeof(float), s);
  cudaMemsetAsync(sum, 0, n * sizeof(float), s);
  for (int round = 0; round < 100; round++) {
    float* x;
    cudaMallocAsync(&x, n * sizeof(float), s);
    fill<<<n / 256, 256, 0, s>>>(x, round);
    add<<<n / 256, 256, 0, s>>>(sum, x);
    cudaFreeAsync(x, s);
  }
  cudaFreeAsync(sum, s);
  return cudaStreamSynchronize(s) != cudaSuccess;
}
