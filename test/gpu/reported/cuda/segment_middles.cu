// The sum of the two ends of a segment overflows before it is halved.
#include <vector>

__global__ void sample_middles(const unsigned char* values, const int* begins, const int* ends, int n, unsigned* sum) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int middle = (begins[i] + ends[i]) / 2;
  atomicAdd(sum, values[middle]);  // ACCESS
}

struct Segments {
  int *begins, *ends;
  int n;

  Segments(int n, int first, int length) : n(n) {
    std::vector<int> host_begins(n), host_ends(n);
    for (int i = 0; i < n; i++) {
      host_begins[i] = first + i * length;
      host_ends[i] = host_begins[i] + length;
    }
    cudaMalloc(&begins, n * sizeof(int));
    cudaMalloc(&ends, n * sizeof(int));
    cudaMemcpy(begins, host_begins.data(), n * sizeof(int), cudaMemcpyHostToDevice);
    cudaMemcpy(ends, host_ends.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  }
};

bool run(const unsigned char* values, const Segments& segments, unsigned* sum) {
  sample_middles<<<segments.n / 256, 256>>>(values, segments.begins, segments.ends, segments.n, sum);  // LAUNCH
  return cudaDeviceSynchronize() == cudaSuccess;
}

int main() {
  const int size = 1600 * 1000 * 1000, n = 1 << 16, length = 1000;
  unsigned char* values;
  unsigned* sum;
  cudaMalloc(&sum, sizeof(unsigned));
  const Segments near_start(n, 0, length), near_end(n, 1400 * 1000 * 1000, length);
  if (cudaMalloc(&values, size) != cudaSuccess) return 77;  // ALLOC
  cudaMemset(sum, 0, sizeof(unsigned));
  if (!run(values, near_start, sum)) return 77;
  return run(values, near_end, sum) ? 0 : 1;
}
