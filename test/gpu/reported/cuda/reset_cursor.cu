// The cursor of a queue is a variable of the device, and it is set to zero before each frame.
__device__ unsigned tail;

__global__ void push(unsigned* queue, unsigned items) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < items; i += gridDim.x * blockDim.x) {
    queue[atomicAdd(&tail, 1u)] = i;
  }
}

int main() {
  const unsigned items = 16 << 20, zero = 0;
  unsigned* queue;
  if (cudaMalloc(&queue, items * sizeof(unsigned)) != cudaSuccess) return 1;
  for (int frame = 0; frame < 8; frame++) {
    cudaMemcpyToSymbol(tail, &zero, sizeof zero);
    push<<<512, 256>>>(queue, items);
    if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  }
  return 0;
}
