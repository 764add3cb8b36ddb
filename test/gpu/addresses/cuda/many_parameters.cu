// Eleven parameters; a structure in the middle contains the failing pointer.
struct View {
  long long strides[3];
  double* data;
};

__global__ void combine(const double* a, const double* b, int m, int n, View c, double alpha, const double* d, int k,
                        double beta, double* workspace, bool transposed) {
  long long i = threadIdx.x, j = blockIdx.x;
  double sum = alpha * a[i] * b[j] + (transposed ? d[i] : beta);
  c.data[i * c.strides[0] + j * c.strides[1]] = sum;  // ACCESS
  if (k && i < m && j < n) workspace[i] = sum;
}

int main() {
  double* p[5];
  for (double*& each : p) cudaMalloc(&each, 4096);
  cudaMalloc(&p[2], 64 << 20);  // ALLOC
  View c{{1, 1 << 28, 0}, p[2]};
  combine<<<4, 32>>>(p[0], p[1], 32, 4, c, 1, p[3], 0, 0, p[4], false);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
