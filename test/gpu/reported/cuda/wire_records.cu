// Records of 13 bytes from a wire format: a tag, a time of four bytes, and a price that is read as a double.
const int record_bytes = 13;

__global__ void prices(const unsigned char* records, int n, double* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const unsigned char* record = records + i * record_bytes;
  out[i] = *reinterpret_cast<const double*>(record + 5);  // ACCESS
}

int main() {
  const int n = 1 << 20;
  unsigned char* records;
  double* out;
  cudaMalloc(&records, n * record_bytes);
  cudaMalloc(&out, n * sizeof(double));
  cudaMemset(records, 0, n * record_bytes);
  prices<<<n / 256, 256>>>(records, n, out);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
