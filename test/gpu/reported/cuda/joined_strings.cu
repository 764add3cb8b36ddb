// The lengths of strings are summed up in 32 bits. The sum wraps around, and the output is far too small.
#include <cstdlib>

__global__ void join(char* out, const unsigned* lengths, const size_t* starts) {
  char* place = out + starts[blockIdx.x];
  for (unsigned i = threadIdx.x * 4096; i < lengths[blockIdx.x]; i += blockDim.x * 4096) place[i] = 'a';  // ACCESS
}

bool run(int strings, unsigned length) {
  unsigned total = 0, *lengths;
  size_t* starts;
  cudaMalloc(&lengths, strings * sizeof(unsigned));
  cudaMalloc(&starts, strings * sizeof(size_t));
  for (int i = 0; i < strings; i++) {
    size_t start = size_t(i) * length;
    cudaMemcpy(lengths + i, &length, sizeof length, cudaMemcpyHostToDevice);
    cudaMemcpy(starts + i, &start, sizeof start, cudaMemcpyHostToDevice);
    total += length;
  }
  char* out;
  if (cudaMalloc(&out, total) != cudaSuccess) exit(77);  // ALLOC
  join<<<strings, 256>>>(out, lengths, starts);          // LAUNCH
  return cudaDeviceSynchronize() == cudaSuccess;
}

int main() {
  if (!run(16, 4 << 20)) return 77;
  return run(1024, (4 << 20) + (64 << 10)) ? 0 : 1;
}
