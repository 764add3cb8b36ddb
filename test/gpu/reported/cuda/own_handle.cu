// A process opens a handle for sharing memory that it made itself.
#include <cstdio>

int main() {
  float* buffer;
  void* peer = nullptr;
  cudaIpcMemHandle_t handle;
  cudaMalloc(&buffer, 64 << 20);
  if (cudaIpcGetMemHandle(&handle, buffer) != cudaSuccess) return 77;                       // no sharing on this system
  cudaError_t error = cudaIpcOpenMemHandle(&peer, handle, cudaIpcMemLazyEnablePeerAccess);  // LAUNCH
  if (error != cudaSuccess) fprintf(stderr, "open: %s\n", cudaGetErrorString(error));
  return error != cudaSuccess;
}
