// The shape of a patch is kept in constant memory. It is not copied again before the next patch, which is narrower.
struct Shape {
  int width, height;
};

__constant__ Shape shape;

__global__ void smooth(float* cells) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= shape.width || y >= shape.height) return;
  size_t cell = static_cast<size_t>(y) * shape.width + x;
  cells[cell] = 0.5f * cells[cell] + 1;  // ACCESS
}

bool run(float* cells, int width, int height) {
  smooth<<<dim3(width / 64, height / 4), dim3(64, 4)>>>(cells);  // LAUNCH
  return cudaDeviceSynchronize() == cudaSuccess;
}

int main() {
  const Shape wide = {131072, 4096};
  const int narrow_width = 4096;
  float *first, *second;
  if (cudaMalloc(&first, size_t(wide.width) * wide.height * sizeof(float)) != cudaSuccess) return 77;
  cudaMemset(first, 0, size_t(wide.width) * wide.height * sizeof(float));
  cudaMemcpyToSymbol(shape, &wide, sizeof wide);
  if (!run(first, wide.width, wide.height)) return 77;
  cudaFree(first);
  cudaMalloc(&second, narrow_width * wide.height * sizeof(float));  // ALLOC
  cudaMemset(second, 0, narrow_width * wide.height * sizeof(float));
  return run(second, narrow_width, wide.height) ? 0 : 1;
}
