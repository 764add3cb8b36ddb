// A log in device memory starts with three words; the counter of 64 bits after them is not aligned.
__global__ void append(char* log, size_t capacity, int value) {
  auto* count = reinterpret_cast<unsigned long long*>(log + 3 * sizeof(int));
  unsigned long long slot = atomicAdd(count, 1ull);  // ACCESS
  if (slot < capacity) reinterpret_cast<int*>(log + 20)[slot] = value;
}

int main() {
  const size_t bytes = 4 << 20, capacity = (bytes - 20) / sizeof(int);
  char* log;
  cudaMalloc(&log, bytes);
  cudaMemset(log, 0, bytes);
  append<<<16, 256>>>(log, capacity, 7);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
