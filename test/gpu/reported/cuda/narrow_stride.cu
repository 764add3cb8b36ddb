// The distance between two masks is 2^31 bytes; the kernel takes it as an int.
__global__ void first_of_masks(const signed char* masks, int stride, int width, int* out) {
  const signed char* mask = masks + static_cast<long long>(blockIdx.y) * stride;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < width) out[blockIdx.y * width + i] = mask[i];  // ACCESS
}

const int WIDTH = 4096, SEQUENCES = 2;

bool run(const signed char* masks, size_t rows, size_t columns, int* out) {
  const size_t stride = rows * columns;
  first_of_masks<<<dim3(WIDTH / 256, SEQUENCES), 256>>>(masks, stride, WIDTH, out);  // LAUNCH
  return cudaDeviceSynchronize() == cudaSuccess;
}

int main() {
  const size_t rows = 8192, context = 262144;
  signed char* masks;
  int* out;
  cudaMalloc(&out, SEQUENCES * WIDTH * sizeof(int));
  if (cudaMalloc(&masks, SEQUENCES * rows * context) != cudaSuccess) return 77;  // ALLOC
  cudaMemset(masks, 0, SEQUENCES * rows * context);
  if (!run(masks, rows, context / 2, out)) return 77;
  return run(masks, rows, context, out) ? 0 : 1;
}
