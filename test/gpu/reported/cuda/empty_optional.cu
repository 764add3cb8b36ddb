// A kernel takes the value of an optional that is empty, as no bin was found for a sample.
#include <cuda/std/optional>

__device__ cuda::std::optional<int> find_bin(const float* edges, int bins, float x) {
  for (int bin = 0; bin < bins; bin++)
    if (x >= edges[bin] && x < edges[bin + 1]) return bin;
  return cuda::std::nullopt;
}

__global__ void make_edges(float* edges, int bins) {
  int i = threadIdx.x;
  if (i <= bins) edges[i] = static_cast<float>(i) / bins;
}

__global__ void sample(float* x, int n, float scale) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = scale * i / n;
}

__global__ void count(const float* x, int n, const float* edges, int bins, unsigned* counts) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&counts[find_bin(edges, bins, x[i]).value()], 1);
}

int main() {
  const int n = 1 << 16, bins = 64;
  float *x, *edges;
  unsigned* counts;
  cudaMalloc(&x, n * sizeof(float));
  cudaMalloc(&edges, (bins + 1) * sizeof(float));
  cudaMalloc(&counts, bins * sizeof(unsigned));
  cudaMemset(counts, 0, bins * sizeof(unsigned));
  make_edges<<<1, 128>>>(edges, bins);
  for (float scale : {1.0f, 1.5f}) {
    sample<<<n / 256, 256>>>(x, n, scale);
    count<<<n / 256, 256>>>(x, n, edges, bins, counts);  // LAUNCH
    if (cudaDeviceSynchronize() != cudaSuccess) return scale == 1.0f ? 77 : 1;
  }
  return 0;
}
