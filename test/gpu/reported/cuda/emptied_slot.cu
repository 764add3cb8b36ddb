// An adapter is removed from its slot, but the slots of the tokens are not computed again.
#include <vector>

__global__ void apply(const float* const* weights, const int* slots, float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += weights[slots[i]][i % 4096];  // ACCESS
}

struct Adapters {
  const float** table;
  std::vector<float*> slots = std::vector<float*>(8, nullptr);

  void set(int slot, float* weights) {
    slots[slot] = weights;
    cudaMemcpy(table, slots.data(), slots.size() * sizeof(float*), cudaMemcpyHostToDevice);
  }
};

int main() {
  const int n = 1 << 16;
  Adapters adapters;
  float* x;
  int* slots;
  cudaMalloc(&adapters.table, 8 * sizeof(float*));
  cudaMalloc(&x, n * sizeof(float));
  cudaMalloc(&slots, n * sizeof(int));
  for (int i = 0; i < 4; i++) {
    float* weights;
    cudaMalloc(&weights, 16 << 20);
    adapters.set(i, weights);
  }
  std::vector<int> of_tokens(n);
  for (int i = 0; i < n; i++) of_tokens[i] = i % 4;
  cudaMemcpy(slots, of_tokens.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  apply<<<n / 256, 256>>>(adapters.table, slots, x, n);  // LAUNCH
  if (cudaDeviceSynchronize() != cudaSuccess) return 77;
  cudaFree(adapters.slots[2]);
  adapters.set(2, nullptr);
  apply<<<n / 256, 256>>>(adapters.table, slots, x, n);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
