// A page is replaced, and its new address is copied in another stream. The next kernel does not wait for the copy.
#include <unistd.h>

#include <vector>

__global__ void gather(const float* const* pages, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = pages[i % 4][i];  // ACCESS
}

void CUDART_CB update_positions(void*) { usleep(500000); }

class Pages {
 public:
  static constexpr size_t bytes = 64 << 20;

  Pages() {
    cudaStreamCreateWithFlags(&copies, cudaStreamNonBlocking);
    cudaMalloc(&table, count * sizeof(float*));
    cudaMallocHost(&addresses, count * sizeof(float*));
    for (int i = 0; i < count; i++) addresses[i] = page();
    cudaMemcpy(table, addresses, count * sizeof(float*), cudaMemcpyHostToDevice);
  }
  void replace(int i) {
    float* old = addresses[i];
    addresses[i] = page();
    cudaFree(old);  // FREED
    cudaLaunchHostFunc(copies, update_positions, nullptr);
    cudaMemcpyAsync(table, addresses, count * sizeof(float*), cudaMemcpyHostToDevice, copies);
  }
  float** table;

 private:
  static float* page() {
    float* memory = nullptr;
    cudaMalloc(&memory, bytes);  // ALLOC
    return memory;
  }
  static constexpr int count = 4;
  float** addresses;
  cudaStream_t copies;
};

int main() {
  const int n = 1 << 20;
  cudaStream_t compute;
  cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking);
  float* out;
  cudaMalloc(&out, n * sizeof(float));
  Pages pages;
  gather<<<n / 256, 256, 0, compute>>>(pages.table, out, n);
  if (cudaStreamSynchronize(compute) != cudaSuccess) return 77;
  pages.replace(2);
  gather<<<n / 256, 256, 0, compute>>>(pages.table, out, n);  // LAUNCH
  return cudaStreamSynchronize(compute) != cudaSuccess;
}
