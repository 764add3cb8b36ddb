// A solver lets cuBLAS write the residual into its workspace; the workspace grows, and the old address is used again.
#include <cublas_v2.h>

struct Workspace {
  float* data = nullptr;
  size_t bytes = 0;
};

void grow(Workspace& workspace, size_t bytes) {
  Workspace larger;
  larger.bytes = bytes;
  cudaMalloc(&larger.data, bytes);  // ALLOC
  if (workspace.data) {
    cudaMemcpy(larger.data, workspace.data, workspace.bytes, cudaMemcpyDeviceToDevice);
    cudaFree(workspace.data);  // FREED
  }
  workspace = larger;
}

int main() {
  const int n = 1 << 20;
  float* x;
  cudaMalloc(&x, n * sizeof(float));
  cudaMemset(x, 0, n * sizeof(float));
  cublasHandle_t handle;
  if (cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS) return 77;
  cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE);
  Workspace workspace;
  grow(workspace, 64 << 20);
  float* residual = workspace.data + (8 << 20);
  cublasSdot(handle, n, x, 1, x, 1, residual);
  cudaDeviceSynchronize();
  grow(workspace, 96 << 20);
  cublasSdot(handle, n, x, 1, x, 1, residual);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
