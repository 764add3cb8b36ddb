// Pieces of an arena are handed out. One of them is given back with cudaFree, which needs the start of the allocation.
#include <vector>

struct Arena {
  char* memory = nullptr;
  size_t used = 0;

  explicit Arena(size_t bytes) { cudaMalloc(&memory, bytes); }
  char* take(size_t bytes) {
    used += bytes;
    return memory + used - bytes;
  }
};

__global__ void fill(char* piece, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) piece[i] = 1;
}

int main() {
  const int piece = 16 << 20;
  Arena arena(4 * piece);
  std::vector<char*> pieces;
  for (int i = 0; i < 4; i++) {
    pieces.push_back(arena.take(piece));
    fill<<<piece / 256, 256>>>(pieces.back(), piece);
  }
  if (cudaDeviceSynchronize() != cudaSuccess) return 77;
  return cudaFree(pieces[2]) != cudaSuccess;  // LAUNCH
}
