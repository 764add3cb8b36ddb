// Two arrays share the dynamic shared memory; the second begins after an odd number of floats, and holds float4.
__global__ void stage(const float4* in, float4* out, int scales) {
  extern __shared__ float memory[];
  float4* tile = reinterpret_cast<float4*>(memory + scales);
  tile[threadIdx.x] = in[threadIdx.x];  // ACCESS
  __syncthreads();
  out[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}

int main() {
  float4 *in, *out;
  cudaMalloc(&in, 4096);
  cudaMalloc(&out, 4096);
  stage<<<1, 128, 4096>>>(in, out, 16);
  stage<<<1, 128, 4096>>>(in, out, 17);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
