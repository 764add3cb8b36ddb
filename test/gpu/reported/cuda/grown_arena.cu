// A tree in an arena: the arena moves when it grows, and the children still point into the old one.
struct Node {
  Node *left, *right;
  float split;
};

__global__ void descend(const Node* root, const float* keys, float* out) {
  const Node* node = root;
  float key = keys[threadIdx.x];
  while (node->left) node = key < node->split ? node->left : node->right;  // ACCESS
  out[threadIdx.x] = node->split;                                          // ACCESS
}

int main() {
  const size_t size = 64 << 20;
  Node *arena, *larger;
  float *keys, *out;
  cudaMalloc(&arena, size);  // ALLOC
  cudaMalloc(&keys, 256 * sizeof(float));
  cudaMalloc(&out, 256 * sizeof(float));
  cudaMemset(keys, 0, 256 * sizeof(float));
  Node tree[3] = {{arena + 1, arena + 2, 0.5f}, {nullptr, nullptr, 0.25f}, {nullptr, nullptr, 0.75f}};
  cudaMemcpy(arena, tree, sizeof tree, cudaMemcpyHostToDevice);
  descend<<<1, 256>>>(arena, keys, out);
  cudaMalloc(&larger, 2 * size);
  cudaMemcpy(larger, arena, size, cudaMemcpyDeviceToDevice);
  cudaFree(arena);                         // FREED
  descend<<<1, 256>>>(larger, keys, out);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
