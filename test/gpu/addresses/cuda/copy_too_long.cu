// The result is copied back with the size of the input.
#include <vector>

__global__ void sum(const float* in, float* out) { atomicAdd(out, in[threadIdx.x]); }

int main() {
  const size_t bytes = 256 << 20;
  std::vector<float> host(bytes / sizeof(float));
  float *in, *out;
  cudaMalloc(&out, 4 << 20);  // ALLOC
  cudaMalloc(&in, bytes);
  sum<<<1, 64>>>(in, out);
  return cudaMemcpy(host.data(), out, bytes, cudaMemcpyDeviceToHost) != cudaSuccess;  // LAUNCH
}
