// The number of a node's first child does not fit into an int on the deepest level of a quadtree.
__global__ void number_children(int first, int* first_child, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) first_child[i] = static_cast<int>(4ll * (first + i) + 1);
}

__global__ void mark(unsigned char* occupied, const int* first_child, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    for (int child = 0; child < 4; child++) occupied[first_child[i] + child] = 1;  // ACCESS
}

struct Quadtree {
  unsigned char* occupied;
  int* first_child;

  bool refine(int first, int n) {
    number_children<<<n / 256, 256>>>(first, first_child, n);
    mark<<<n / 256, 256>>>(occupied, first_child, n);  // LAUNCH
    return cudaDeviceSynchronize() == cudaSuccess;
  }
};

int main() {
  const int n = 1 << 16, levels = 17;
  const size_t nodes = ((size_t{1} << 2 * levels) - 1) / 3;
  Quadtree tree;
  cudaMalloc(&tree.first_child, n * sizeof(int));
  if (cudaMalloc(&tree.occupied, nodes) != cudaSuccess) return 77;  // ALLOC
  if (!tree.refine(100 * 1000 * 1000, n)) return 77;
  return tree.refine(600 * 1000 * 1000, n) ? 0 : 1;
}
