// A table of activations: a layer uses one that was never registered, so the kernel calls a null pointer.
using Activation = float (*)(float);

__device__ float relu(float x) { return x > 0 ? x : 0; }
__device__ float leaky(float x) { return x > 0 ? x : 0.1f * x; }
__device__ Activation relu_entry = relu, leaky_entry = leaky;

__global__ void activate(const Activation* activations, const int* kinds, float* x) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  x[i] = activations[kinds[blockIdx.x]](x[i]);  // ACCESS
}

int main() {
  Activation host[8] = {}, *activations;
  int kind_of[4] = {0, 1, 0, 5}, *kinds;
  float* x;
  cudaMemcpyFromSymbol(&host[0], relu_entry, sizeof(Activation));
  cudaMemcpyFromSymbol(&host[1], leaky_entry, sizeof(Activation));
  cudaMalloc(&activations, sizeof host);
  cudaMalloc(&kinds, sizeof kind_of);
  cudaMalloc(&x, 4 * 256 * sizeof(float));
  cudaMemcpy(activations, host, sizeof host, cudaMemcpyHostToDevice);
  cudaMemcpy(kinds, kind_of, sizeof kind_of, cudaMemcpyHostToDevice);
  activate<<<2, 256>>>(activations, kinds, x);
  activate<<<4, 256>>>(activations, kinds, x);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
