// One bit for each voxel of a large grid: the number of the bit does not fit into an int.
__global__ void mark(unsigned* words, const int3* points, int nx, int ny) {
  int3 p = points[threadIdx.x];
  int bit = p.x + nx * (p.y + ny * p.z);
  atomicOr(&words[bit / 32], 1u << (bit & 31));  // ACCESS
}

int main() {
  const int n = 1500;
  const size_t bytes = size_t(n) * n * n / 8;
  int3 host[32] = {}, *points;
  for (int i = 0; i < 32; i++) host[i] = {i, 10, i < 16 ? 20 : 1000};
  unsigned* words;
  cudaMalloc(&words, bytes);  // ALLOC
  cudaMalloc(&points, sizeof host);
  cudaMemset(words, 0, bytes);
  cudaMemcpy(points, host, sizeof host, cudaMemcpyHostToDevice);
  mark<<<1, 32>>>(words, points, n, n);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
