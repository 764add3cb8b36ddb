// A kernel fills a table of row pointers with a pitch in bytes as if it were in floats; the next kernel follows them.
__global__ void make_rows(float** rows, float* base, size_t pitch) { rows[threadIdx.x] = base + threadIdx.x * pitch; }

__global__ void add_to_rows(float* const* rows, float value) { rows[blockIdx.x][threadIdx.x] += value; }  // ACCESS

int main() {
  const int width = 1 << 20, height = 256;
  float *image, **rows;
  size_t pitch;
  cudaMallocPitch(&image, &pitch, width * sizeof(float), height);  // ALLOC
  cudaMalloc(&rows, height * sizeof(float*));
  make_rows<<<1, height>>>(rows, image, pitch);
  add_to_rows<<<height, 256>>>(rows, 1);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
