// An owning object is passed by value, so the copy frees the memory when the first call returns.
struct Field {
  explicit Field(size_t n) : cells(n) { cudaMalloc(&values, n * sizeof(float)); }  // ALLOC
  ~Field() { cudaFree(values); }                                                   // FREED
  float* values;
  size_t cells;
};

__global__ void diffuse(float* values, size_t cells) {
  size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
  if (i < cells) values[i] *= 0.9f;  // ACCESS
}

static void step(Field field) {
  diffuse<<<field.cells / 256, 256>>>(field.values, field.cells);  // LAUNCH
}

int main() {
  Field field(1 << 26);
  step(field);
  step(field);
  return cudaDeviceSynchronize() != cudaSuccess;
}
