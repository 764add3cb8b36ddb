// A pool fills the records that it takes back with a pattern; a kernel still follows the pointer of such a record.
#include <vector>

struct Page {
  const float* values;
  float scale;
};

__global__ void gather(const Page* pages, const int* page_of, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = pages[page_of[i]].values[i % 4096];  // ACCESS
}

struct Pool {
  static constexpr int taken_back = 0xcc;
  Page* pages;

  Pool(int count, const float* values) {
    cudaMalloc(&pages, count * sizeof(Page));
    std::vector<Page> host;
    for (int i = 0; i < count; i++) host.push_back({values + i * 4096, 1.0f});
    cudaMemcpy(pages, host.data(), count * sizeof(Page), cudaMemcpyHostToDevice);
  }
  void take_back(int page) { cudaMemset(pages + page, taken_back, sizeof(Page)); }
};

int main() {
  const int n = 1 << 16, count = 1024;
  float *values, *out;
  int* page_of;
  cudaMalloc(&values, count * 4096 * sizeof(float));
  cudaMalloc(&out, n * sizeof(float));
  cudaMalloc(&page_of, n * sizeof(int));
  std::vector<int> host(n);
  for (int i = 0; i < n; i++) host[i] = i % count;
  cudaMemcpy(page_of, host.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  Pool pool(count, values);
  gather<<<n / 256, 256>>>(pool.pages, page_of, out, n);
  if (cudaDeviceSynchronize() != cudaSuccess) return 77;
  pool.take_back(500);
  gather<<<n / 256, 256>>>(pool.pages, page_of, out, n);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
