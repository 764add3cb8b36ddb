// A view that is shifted by one float is passed to the kernel as float4.
__global__ void normalise(float4* rows, float by) {
  float4 row = rows[threadIdx.x];  // ACCESS
  rows[threadIdx.x] = make_float4(row.x * by, row.y * by, row.z * by, row.w * by);
}

int main() {
  float* storage;
  cudaMalloc(&storage, 1 << 20);  // ALLOC
  normalise<<<1, 64>>>(reinterpret_cast<float4*>(storage), 0.5f);
  normalise<<<1, 64>>>(reinterpret_cast<float4*>(storage + 1), 0.5f);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
