// A lambda captures a view of a buffer that its owner frees before the loop starts.
struct Buffer {
  double* data;
  explicit Buffer(size_t n) { cudaMalloc(&data, n * sizeof(double)); }  // ALLOC
  ~Buffer() { cudaFree(data); }                                         // FREED
};

struct View {
  const double* data;
  int rows;
  __device__ double operator()(int row, int column) const {
    return data[size_t(column) * rows + row];  // ACCESS
  }
};

template <typename Body>
__global__ void for_each(int n, Body body) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) body(i);
}

View diagonal_of(int n) {
  Buffer values(size_t(n) * n);
  cudaMemset(values.data, 0, size_t(n) * n * sizeof(double));
  return {values.data, n};
}

int main() {
  const int n = 2048;
  Buffer out(n);
  View matrix = diagonal_of(n);
  double* result = out.data;
  for_each<<<n / 256, 256>>>(n, [=] __device__(int i) { result[i] = matrix(i, i); });  // LAUNCH, ACCESS
  return cudaDeviceSynchronize() != cudaSuccess;
}
