// A kernel gets a callback, but its address was taken on the host.
using Activation = float (*)(float);

__host__ __device__ float leaky(float x) { return x > 0 ? x : 0.01f * x; }
__host__ __device__ float square(float x) { return x * x; }

__global__ void activate(Activation function, float* x) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  x[i] = function(x[i]);  // ACCESS
}

int main(int argc, char**) {
  const int n = 1 << 20;
  float* x;
  cudaMalloc(&x, n * sizeof(float));
  cudaMemset(x, 0, n * sizeof(float));
  activate<<<n / 256, 256>>>(argc > 1 ? square : leaky, x);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
