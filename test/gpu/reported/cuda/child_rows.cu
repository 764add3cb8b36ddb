// A kernel launches a child for each long row; the row number that it passes on is far too large.
__global__ void scale_row(float* matrix, long long row, int width, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < width) matrix[row * width + i] *= factor;  // ACCESS
}

__global__ void scale(float* matrix, const long long* rows, int count, int width, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) scale_row<<<width / 256, 256>>>(matrix, rows[i], width, factor);  // LAUNCH
}

int main() {
  const int height = 1024, width = 1024;
  long long host[4] = {0, 5, 3'000'000, 1023}, *rows;
  float* matrix;
  cudaMalloc(&matrix, height * width * sizeof(float));  // ALLOC
  cudaMalloc(&rows, sizeof host);
  cudaMemcpy(rows, host, sizeof host, cudaMemcpyHostToDevice);
  scale<<<1, 32>>>(matrix, rows, 4, width, 2);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
