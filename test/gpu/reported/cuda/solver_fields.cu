// A structure by value with two views: one field was enlarged after the structure was copied.
struct View {
  float* data;
  int stride, rows;
};

struct Fields {
  View velocity, pressure;
  float step;
};

__global__ void project(Fields fields) {
  int row = blockIdx.x, column = threadIdx.x;
  float p = fields.pressure.data[size_t(row) * fields.pressure.stride + column];  // ACCESS
  fields.velocity.data[size_t(row) * fields.velocity.stride + column] -= fields.step * p;
}

void enlarge(View& view, int rows) {
  float* larger;
  size_t row = view.stride * sizeof(float);
  cudaMalloc(&larger, rows * row);
  cudaMemcpy(larger, view.data, view.rows * row, cudaMemcpyDeviceToDevice);
  cudaFree(view.data);  // FREED
  view = {larger, view.stride, rows};
}

int main() {
  const int rows = 4096, stride = 4096;
  Fields fields = {{nullptr, stride, rows}, {nullptr, stride, rows}, 0.1f};
  cudaMalloc(&fields.velocity.data, size_t(rows) * stride * sizeof(float));
  cudaMalloc(&fields.pressure.data, size_t(rows) * stride * sizeof(float));  // ALLOC
  Fields of_step = fields;
  project<<<rows, 256>>>(of_step);
  enlarge(fields.pressure, 2 * rows);
  project<<<rows, 256>>>(of_step);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
