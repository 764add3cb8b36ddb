// The lowest bit of a child pointer marks a leaf, and is not cleared before use.
#include <cstdint>

struct alignas(16) Node {
  uint64_t child;
  float low, high;
};

__global__ void descend(const Node* root, float* out) {
  const Node* node = reinterpret_cast<const Node*>(root->child);
  out[threadIdx.x] = node->low + node->high;  // ACCESS
}

int main() {
  Node* nodes;
  float* out;
  cudaMalloc(&nodes, 2 * sizeof(Node));  // ALLOC
  cudaMalloc(&out, 4096);
  Node host[2] = {{reinterpret_cast<uint64_t>(nodes + 1) | 1, 0, 1}, {0, 0, 1}};
  cudaMemcpy(nodes, host, sizeof host, cudaMemcpyHostToDevice);
  descend<<<1, 32>>>(nodes, out);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
