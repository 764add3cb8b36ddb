// More keys than slots are inserted into a hash table, and the kernel asserts that a free slot is found.
#include <cassert>

__global__ void insert(int* slots, int capacity, int keys) {
  int key = blockIdx.x * blockDim.x + threadIdx.x;
  if (key >= keys) return;
  int slot = (key * 2654435761u) % capacity, steps = 0;
  while (steps < capacity && atomicCAS(slots + slot, -1, key) != -1) {
    slot = (slot + 1) % capacity;
    steps++;
  }
  assert(steps < capacity && "the table is full");
}

bool run(int capacity, int keys) {
  int* slots;
  cudaMalloc(&slots, capacity * sizeof(int));
  cudaMemset(slots, -1, capacity * sizeof(int));
  insert<<<(keys + 255) / 256, 256>>>(slots, capacity, keys);  // LAUNCH
  return cudaDeviceSynchronize() == cudaSuccess;
}

int main() {
  if (!run(16384, 8000)) return 77;
  return run(16384, 17000) ? 0 : 1;
}
