// Memory of GPU 1, a kernel on GPU 0, and no peer access.
__global__ void scale(float* x, float by) { x[threadIdx.x] *= by; }  // ACCESS

int main() {
  float *here, *there;
  cudaMalloc(&here, 4096);
  cudaSetDevice(1);
  cudaMalloc(&there, 64 << 20);  // ALLOC
  cudaSetDevice(0);
  scale<<<1, 64>>>(here, 2);
  scale<<<1, 64>>>(there, 2);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
