// A recursive function with a large frame: the stack of the device is too small for a degenerate tree.
__device__ int visit(const int* next, int node, int depth) {
  volatile int path[256];
  for (int i = 0; i < 256; i++) path[i] = node + i;                          // ACCESS
  int deeper = next[node] < 0 ? depth : visit(next, next[node], depth + 1);  // ACCESS
  return deeper + path[deeper & 255];
}

__global__ void depths(const int* next, int* out) {
  out[threadIdx.x] = visit(next, threadIdx.x, 0);  // ACCESS
}

int main() {
  const int nodes = 1 << 20;
  int *next, *out, *host = new int[nodes];
  for (int i = 0; i < nodes; i++) host[i] = i + 1 < nodes ? i + 1 : -1;
  cudaMalloc(&next, nodes * sizeof(int));
  cudaMalloc(&out, 32 * sizeof(int));
  cudaMemcpy(next, host, nodes * sizeof(int), cudaMemcpyHostToDevice);
  delete[] host;
  depths<<<1, 32>>>(next, out);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
