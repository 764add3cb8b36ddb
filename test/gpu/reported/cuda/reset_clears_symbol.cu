// A table is installed once for each process. A reset of the device clears its pointer, and nobody installs it again.
__device__ const float* table;

__global__ void look_up(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = table[i % 4096];  // ACCESS
}

void install_table() {
  static bool installed = false;
  if (installed) return;
  float* memory;
  cudaMalloc(&memory, 4096 * sizeof(float));
  cudaMemset(memory, 0, 4096 * sizeof(float));
  cudaMemcpyToSymbol(table, &memory, sizeof memory);
  installed = true;
}

bool run() {
  const int n = 1 << 16;
  float* x;
  install_table();
  if (cudaMalloc(&x, n * sizeof(float)) != cudaSuccess) return false;
  look_up<<<n / 256, 256>>>(x, n);  // LAUNCH
  const bool worked = cudaDeviceSynchronize() == cudaSuccess;
  cudaFree(x);
  return worked;
}

int main() {
  if (!run()) return 77;
  if (cudaDeviceReset() != cudaSuccess) return 77;
  return run() ? 0 : 1;
}
