// The lowest bit of a child's address marks a leaf; the bit is tested, but it is not removed.
#include <cstdint>
#include <vector>

struct Node {
  float split, value;
  uintptr_t children[2];
};

__global__ void classify(const Node* root, const float* x, float* out, int n, int levels) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const Node* node = root;
  for (int level = 0; level < levels; level++) {
    uintptr_t child = node->children[x[i] > node->split];
    node = reinterpret_cast<const Node*>(child);
    if (child & 1) break;
  }
  out[i] = node->value;  // ACCESS
}

int main() {
  const int n = 1 << 16, inner = (1 << 17) - 1;
  Node* nodes;
  float *x, *out;
  cudaMalloc(&nodes, (2 * inner + 1) * sizeof(Node));
  cudaMalloc(&x, n * sizeof(float));
  cudaMalloc(&out, n * sizeof(float));
  cudaMemset(x, 0, n * sizeof(float));
  std::vector<Node> host(2 * inner + 1, Node{0.5f, 1.0f, {0, 0}});
  for (int i = 0; i < inner; i++)
    for (int side = 0; side < 2; side++) {
      const int child = 2 * i + 1 + side;
      host[i].children[side] = reinterpret_cast<uintptr_t>(nodes + child) | (child >= inner ? 1 : 0);
    }
  cudaMemcpy(nodes, host.data(), host.size() * sizeof(Node), cudaMemcpyHostToDevice);
  classify<<<n / 256, 256>>>(nodes, x, out, n, 8);
  if (cudaDeviceSynchronize() != cudaSuccess) return 77;
  classify<<<n / 256, 256>>>(nodes, x, out, n, 32);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
