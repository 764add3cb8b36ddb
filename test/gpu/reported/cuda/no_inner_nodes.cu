// A tree with one triangle has no inner nodes. Memory for 0 nodes is a null pointer, and the search begins there.
struct Node {
  float bounds[6];
  int left, right;
};

__global__ void search(const Node* nodes, int triangles, float x, int* found) {
  int node = 0;
  for (int depth = 0; depth < 64; depth++) {
    node = x < nodes[node].bounds[3] ? nodes[node].left : nodes[node].right;  // ACCESS
    if (node < 0) break;
  }
  *found = ~node < triangles ? ~node : -1;
}

bool run(int triangles, int* found) {
  const int inner = triangles - 1;
  Node* nodes = nullptr;
  if (cudaMalloc(&nodes, inner * sizeof(Node)) != cudaSuccess) return false;
  if (inner) cudaMemset(nodes, 0xff, inner * sizeof(Node));
  search<<<1, 1>>>(nodes, triangles, 0.5f, found);  // LAUNCH
  return cudaDeviceSynchronize() == cudaSuccess;
}

int main() {
  int* found;
  cudaMalloc(&found, sizeof(int));
  if (!run(1000, found)) return 77;
  return run(1, found) ? 0 : 1;
}
