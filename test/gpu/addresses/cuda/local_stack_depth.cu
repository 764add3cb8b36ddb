// The stack of a tree walk is popped once too often, so its depth becomes negative.
__global__ void walk(const int* start, const int* children, int* visited) {
  int stack[32];
  int depth = start[0];
  for (int i = 0; i < 32; ++i) stack[i] = children[i];
  int sum = 0;
  for (int i = 0; i < 4; ++i) sum += stack[depth - i];  // ACCESS
  visited[threadIdx.x] = sum;
}

int main() {
  int *start, *children, *visited, host = -50'000'000;
  cudaMalloc(&start, sizeof host);
  cudaMalloc(&children, 4096);
  cudaMalloc(&visited, 4096);
  cudaMemset(children, 0, 4096);
  cudaMemcpy(start, &host, sizeof host, cudaMemcpyHostToDevice);
  walk<<<1, 32>>>(start, children, visited);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
