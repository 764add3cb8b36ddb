// A generic kernel in a generic launcher: the reported line must be the one that launches, not that of the kernel.
#include <cstdio>

template <class Body>
__global__ void for_each(int n, Body body) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) body(i);
}

template <class Body>
void for_each(cudaStream_t stream, int n, Body body) {
  for_each<<<(n + 255) / 256, 256, 0, stream>>>(n, body);  // TRUE LINE
}

int main() {
  constexpr int kCells = 1 << 16;
  int *from, *to;
  cudaStream_t stream;
  cudaMalloc(&from, kCells * sizeof(int));
  cudaMalloc(&to, kCells * sizeof(int));
  cudaStreamCreate(&stream);
  for_each(stream, kCells, [from] __device__(int i) { from[i] = i; });
  for (int step = 0; step < 20; step++) {
    for_each(stream, kCells, [from, to, step] __device__(int i) {
      if (from[i] == 1000 && step == 12) __trap();
      to[i] = from[i] + step;
    });
  }
  cudaError_t e = cudaStreamSynchronize(stream);  // BLAMED
  printf("%s\n", cudaGetErrorName(e));
  return e != cudaSuccess;
}
