// The table of pointers was allocated while another GPU was current; the matrices themselves are in the right place.
__global__ void copy_first(float* const* matrices, float* out) { out[blockIdx.x] = matrices[blockIdx.x][0]; }  // ACCESS

int main() {
  float *host[4], *out, **matrices;
  cudaSetDevice(0);
  cudaMalloc(&matrices, sizeof host);  // ALLOC
  cudaSetDevice(1);
  cudaMalloc(&out, 4096);
  for (float*& matrix : host) cudaMalloc(&matrix, 4096);
  cudaMemcpy(matrices, host, sizeof host, cudaMemcpyHostToDevice);
  copy_first<<<4, 1>>>(matrices, out);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
