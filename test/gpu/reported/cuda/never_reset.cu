// The cursor of a queue is a variable of the device. It is not set to zero between the frames.
__device__ unsigned tail;

__global__ void push(unsigned* queue, unsigned items) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < items; i += gridDim.x * blockDim.x) {
    unsigned place = atomicAdd(&tail, 1u);
    queue[place] = i;  // ACCESS
  }
}

__global__ void drain(const unsigned* queue, unsigned long long* sum) {
  unsigned long long mine = 0;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < tail; i += gridDim.x * blockDim.x) mine += queue[i];
  atomicAdd(sum, mine);
}

int main() {
  const unsigned items = 16 << 20;
  unsigned* queue;
  unsigned long long* sum;
  cudaMalloc(&sum, sizeof *sum);
  cudaMalloc(&queue, items * sizeof(unsigned));  // ALLOC
  cudaMemset(sum, 0, sizeof *sum);
  for (int frame = 0; frame < 16; frame++) {
    push<<<512, 256>>>(queue, items);  // LAUNCH
    if (cudaDeviceSynchronize() != cudaSuccess) return frame ? 1 : 77;
    drain<<<512, 256>>>(queue, sum);
    if (cudaDeviceSynchronize() != cudaSuccess) return frame ? 1 : 77;
  }
  return 0;
}
