// A texture object over a linear buffer outlives the buffer.
__global__ void lookup(cudaTextureObject_t table, const int* keys, float* out) {
  out[threadIdx.x] = tex1Dfetch<float>(table, keys[threadIdx.x]);  // ACCESS
}

int main() {
  const size_t bytes = 64 << 20;
  float *buffer, *out;
  int* keys;
  cudaMalloc(&buffer, bytes);  // ALLOC
  cudaMalloc(&out, 256 * sizeof(float));
  cudaMalloc(&keys, 256 * sizeof(int));
  cudaMemset(keys, 0, 256 * sizeof(int));
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear.devPtr = buffer;
  resource.res.linear.desc = cudaCreateChannelDesc<float>();
  resource.res.linear.sizeInBytes = bytes;
  cudaTextureDesc description = {};
  cudaTextureObject_t table;
  cudaCreateTextureObject(&table, &resource, &description, nullptr);
  lookup<<<1, 256>>>(table, keys, out);
  cudaFree(buffer);                      // FREED
  lookup<<<1, 256>>>(table, keys, out);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
