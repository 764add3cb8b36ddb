// Requests lie in a ring; a launch covers the whole ring, and some slots still hold requests of the previous round.
struct Request {
  float* data;
  int n;
};

__global__ void serve(const Request* ring, int slots) {
  for (int slot = 0; slot < slots; slot++) {
    Request request = ring[slot];
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < request.n; i += gridDim.x * blockDim.x)
      request.data[i] *= 2;  // ACCESS
  }
}

int main() {
  const int slots = 8, n = 16 << 20;
  Request host[slots], *ring;
  float* served[slots];
  cudaMalloc(&ring, sizeof host);
  for (Request& request : host) {
    request.n = n;
    cudaMalloc(&request.data, n * sizeof(float));  // ALLOC
    cudaMemset(request.data, 0, n * sizeof(float));
  }
  cudaMemcpy(ring, host, sizeof host, cudaMemcpyHostToDevice);
  serve<<<128, 256>>>(ring, slots);
  if (cudaDeviceSynchronize() != cudaSuccess) return 77;
  for (int slot = 0; slot < slots; slot++) served[slot] = host[slot].data;
  const int waiting = 5;
  for (int slot = 0; slot < waiting; slot++) {
    cudaMalloc(&host[slot].data, n * sizeof(float));
    cudaMemset(host[slot].data, 0, n * sizeof(float));
  }
  for (float* data : served) cudaFree(data);  // FREED
  cudaMemcpy(ring, host, waiting * sizeof(Request), cudaMemcpyHostToDevice);
  serve<<<128, 256>>>(ring, slots);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
