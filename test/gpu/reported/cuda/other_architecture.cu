// The program was compiled for another architecture only, and without code that the driver can translate.
__global__ void scale(float* x) { x[blockIdx.x * blockDim.x + threadIdx.x] *= 2; }

int main() {
  int major = 0;
  cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0);
  if (major == 8) return 77;  // the code is for this device
  float* x;
  cudaMalloc(&x, 4096 * sizeof(float));
  cudaMemset(x, 0, 4096 * sizeof(float));
  scale<<<16, 256>>>(x);  // LAUNCH
  if (cudaGetLastError() != cudaSuccess) return 1;
  return cudaDeviceSynchronize() != cudaSuccess;
}
