// A table of rows: the pitch is in bytes, but it is added to a pointer to floats.
#include <vector>

__global__ void clear(float* const* rows, int width) {
  float* row = rows[blockIdx.x];
  for (int i = threadIdx.x; i < width; i += blockDim.x) row[i] = 0;  // ACCESS
}

int main() {
  const int width = 1024, height = 131072;
  size_t pitch;
  float *image, **rows;
  cudaMallocPitch(&image, &pitch, width * sizeof(float), height);  // ALLOC
  std::vector<float*> table(height);
  for (int y = 0; y < height; y++) table[y] = image + y * pitch;
  cudaMalloc(&rows, height * sizeof(float*));
  cudaMemcpy(rows, table.data(), height * sizeof(float*), cudaMemcpyHostToDevice);
  clear<<<height, 256>>>(rows, width);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
