// A table of fields in constant memory still has the address of a field before it grew.
struct Field {
  float* data;
  int n;
};

__constant__ Field fields[2];

__global__ void damp(float factor) {
  const Field field = fields[blockIdx.y];
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < field.n; i += gridDim.x * blockDim.x)
    field.data[i] *= factor;  // ACCESS
}

int main() {
  const int n = 16 << 20;
  Field host[2] = {{nullptr, n}, {nullptr, n}};
  cudaMalloc(&host[0].data, n * sizeof(float));
  cudaMalloc(&host[1].data, n * sizeof(float));  // ALLOC
  cudaMemcpyToSymbol(fields, host, sizeof host);
  damp<<<dim3(256, 2), 256>>>(0.9f);

  float* larger;
  cudaMalloc(&larger, 2 * n * sizeof(float));
  cudaMemcpy(larger, host[1].data, n * sizeof(float), cudaMemcpyDeviceToDevice);
  cudaFree(host[1].data);  // FREED
  host[1] = {larger, 2 * n};
  damp<<<dim3(256, 2), 256>>>(0.9f);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
