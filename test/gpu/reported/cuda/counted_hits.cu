// A full buffer takes no more hits, but the counter goes on. The next kernel reads as many hits as were counted.
const unsigned CAPACITY = 1 << 20;

__global__ void collect(unsigned* hits, unsigned* counter, unsigned candidates) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < candidates; i += gridDim.x * blockDim.x) {
    unsigned place = atomicAdd(counter, 1u);
    if (place < CAPACITY) hits[place] = i;
  }
}

__global__ void process(const unsigned* hits, const unsigned* counter, unsigned long long* sum) {
  unsigned long long mine = 0;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < *counter; i += gridDim.x * blockDim.x)
    mine += hits[i];  // ACCESS
  atomicAdd(sum, mine);
}

bool run(unsigned* hits, unsigned* counter, unsigned candidates, unsigned long long* sum) {
  cudaMemset(counter, 0, sizeof(unsigned));
  collect<<<512, 256>>>(hits, counter, candidates);
  process<<<512, 256>>>(hits, counter, sum);  // LAUNCH
  return cudaDeviceSynchronize() == cudaSuccess;
}

int main() {
  unsigned *hits, *counter;
  unsigned long long* sum;
  cudaMalloc(&counter, sizeof(unsigned));
  cudaMalloc(&sum, sizeof(unsigned long long));
  cudaMalloc(&hits, CAPACITY * sizeof(unsigned));  // ALLOC
  if (!run(hits, counter, CAPACITY / 2, sum)) return 77;
  return run(hits, counter, CAPACITY * 128, sum) ? 0 : 1;
}
