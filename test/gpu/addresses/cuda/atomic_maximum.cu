// A maximum of doubles by compare-and-swap, in a separate function whose first access is a load.
__device__ double atomic_maximum(double* at, double value) {
  auto* word = reinterpret_cast<unsigned long long*>(at);
  unsigned long long old = *word, seen;  // ACCESS
  do {
    seen = old;
    if (__longlong_as_double(seen) >= value) break;
    old = atomicCAS(word, seen, __double_as_longlong(value));
  } while (old != seen);
  return __longlong_as_double(old);
}

__global__ void segment_maximum(const long long* segment, double* maxima) {
  atomic_maximum(maxima + segment[threadIdx.x], threadIdx.x);  // ACCESS
}

int main() {
  long long host[32], *segment;
  for (int i = 0; i < 32; ++i) host[i] = i == 9 ? 1LL << 29 : i;
  double* maxima;
  cudaMalloc(&maxima, 4096);  // ALLOC
  cudaMalloc(&segment, sizeof host);
  cudaMemcpy(segment, host, sizeof host, cudaMemcpyHostToDevice);
  segment_maximum<<<1, 32>>>(segment, maxima);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
