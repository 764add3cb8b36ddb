// A tree is walked with a stack of 64 entries per thread; the tree is a long chain, so far more are pushed.
struct Node {
  int left, right;
};

__global__ void chain(Node* nodes, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  nodes[i] = {i + 1 < n ? i + 1 : -1, n + i};
  nodes[n + i] = {-1, -1};
}

__global__ void walk(const Node* nodes, int* visited) {
  int stack[64], top = 0, count = 0;
  for (int node = 0; node >= 0; count++) {
    const Node at = nodes[node];
    if (at.right >= 0) stack[top++] = at.right;  // ACCESS
    node = at.left >= 0 ? at.left : top > 0 ? stack[--top] : -1;
  }
  visited[threadIdx.x] = count;
}

int main() {
  const int n = 1 << 19;
  Node* nodes;
  int* visited;
  cudaMalloc(&nodes, 2 * n * sizeof(Node));
  cudaMalloc(&visited, 32 * sizeof(int));
  chain<<<n / 256, 256>>>(nodes, n);
  walk<<<1, 32>>>(nodes, visited);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
