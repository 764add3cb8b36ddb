// The links of nodes became offsets into the arena. One of the two kernels still follows them as pointers.
struct Node {
  size_t next;
  float value;
};

__global__ void link(char* arena, size_t step, int nodes) {
  for (int i = 0; i < nodes; i++) {
    Node* node = reinterpret_cast<Node*>(arena + i * step);
    *node = {i + 1 < nodes ? (i + 1) * step : 0, 1.0f};
  }
}

__global__ void length(const char* arena, int* out) {
  const Node* node = reinterpret_cast<const Node*>(arena);
  for (*out = 1; node->next && *out < 1000; ++*out) node = reinterpret_cast<const Node*>(arena + node->next);
}

__global__ void total(const char* arena, float* out) {
  const Node* node = reinterpret_cast<const Node*>(arena);
  float sum = 0;
  for (int i = 0; node && i < 1000; i++) {
    sum += node->value;                                // ACCESS
    node = reinterpret_cast<const Node*>(node->next);  // ACCESS
  }
  *out = sum;
}

int main() {
  const size_t step = 1 << 20;
  char* arena;
  float* out;
  cudaMalloc(&arena, 64 * step);
  cudaMalloc(&out, sizeof(float));
  link<<<1, 1>>>(arena, step, 64);
  length<<<1, 1>>>(arena, reinterpret_cast<int*>(out));
  if (cudaDeviceSynchronize() != cudaSuccess) return 77;
  total<<<1, 1>>>(arena, out);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
