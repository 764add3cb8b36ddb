// Two strides are swapped in a call: the slice stride is passed as the row stride, and vice versa.
__global__ void fill(float* slices, float value, long long slice_stride, long long row_stride) {
  slices[blockIdx.y * slice_stride + blockIdx.x * row_stride + threadIdx.x] = value;  // ACCESS
}

int main() {
  const long long count = 16, rows = 1 << 16, width = 64;
  float* slices;
  cudaMalloc(&slices, count * rows * width * sizeof(float));           // ALLOC
  fill<<<dim3(rows, count), width>>>(slices, 0, width, rows * width);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
