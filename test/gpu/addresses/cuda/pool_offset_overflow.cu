// Pooling: (n * channels + c) * height * width overflows before it is widened.
template <typename T>
__global__ void pool_max(const T* input, T* output, int channels, int height, int width) {
  int n = blockIdx.x, c = blockIdx.y;
  const T* plane = input + (n * channels + c) * height * width;
  T best = plane[threadIdx.x];  // ACCESS
  output[n * channels + c] = best > T(0) ? best : T(0);
}

int main() {
  const int batch = 4, channels = 64, height = 4096, width = 4096;
  float *input, *output;
  cudaMalloc(&input, size_t(batch) * channels * height * width * sizeof(float));  // ALLOC
  cudaMalloc(&output, batch * channels * sizeof(float));
  pool_max<float><<<dim3(batch, channels), 1>>>(input, output, channels, height, width);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
