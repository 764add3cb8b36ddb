// Words of three characters are read as 32-bit numbers.
#include <cstdint>

__global__ void hash_words(const char* text, uint32_t* hashes, int length) {
  const uint32_t* word = reinterpret_cast<const uint32_t*>(text + threadIdx.x * length);
  hashes[threadIdx.x] = *word * 2654435761u;  // ACCESS
}

int main() {
  char* text;
  uint32_t* hashes;
  cudaMalloc(&text, 4096);  // ALLOC
  cudaMalloc(&hashes, 4096);
  hash_words<<<1, 3>>>(text, hashes, 4);
  hash_words<<<1, 3>>>(text, hashes, 3);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
