// Records of 12 bytes: an int, then a double whose offset is not a multiple of eight.
__global__ void totals(const char* records, double* out) {
  const char* record = records + 12 * threadIdx.x;
  int id = *reinterpret_cast<const int*>(record);
  out[id & 63] = *reinterpret_cast<const double*>(record + 4);  // ACCESS
}

int main() {
  char* records;
  double* out;
  cudaMalloc(&records, 12 * 64);  // ALLOC
  cudaMalloc(&out, 64 * sizeof(double));
  cudaMemset(records, 0, 12 * 64);
  totals<<<1, 64>>>(records, out);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
