// A layer was freed, but the table of layers still contains its pointer.
__global__ void add_all(float* const* layers, float by) { layers[blockIdx.x][threadIdx.x] += by; }  // ACCESS

int main() {
  float *host[4], **layers;
  for (float*& layer : host) cudaMalloc(&layer, 128 << 20);  // ALLOC
  cudaMalloc(&layers, sizeof host);
  cudaMemcpy(layers, host, sizeof host, cudaMemcpyHostToDevice);
  add_all<<<4, 64>>>(layers, 1);
  cudaFree(host[3]);              // FREED
  add_all<<<4, 64>>>(layers, 1);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
