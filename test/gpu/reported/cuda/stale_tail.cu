// A table of pages: a shorter request leaves the pages of the request before it in the tail, and they are gone.
__global__ void attend(float* const* pages, int used, float* out, int page_floats) {
  float sum = 0;
  for (int p = 0; p < used; p++)
    for (int i = threadIdx.x; i < page_floats; i += blockDim.x) sum += pages[p][i];  // ACCESS
  atomicAdd(out, sum);
}

int main() {
  const int page_floats = 16 << 20;
  float *host[8] = {}, **pages, *out;
  cudaMalloc(&pages, sizeof host);
  cudaMalloc(&out, sizeof(float));
  for (int p = 0; p < 8; p++) cudaMalloc(&host[p], page_floats * sizeof(float));  // ALLOC
  cudaMemcpy(pages, host, sizeof host, cudaMemcpyHostToDevice);
  attend<<<1, 256>>>(pages, 8, out, page_floats);
  for (int p = 5; p < 8; p++) cudaFree(host[p]);  // FREED
  cudaMemcpy(pages, host, 5 * sizeof(float*), cudaMemcpyHostToDevice);
  int used = (5 + 7) / 8 * 8;                         // the kernel works on blocks of eight pages
  attend<<<1, 256>>>(pages, used, out, page_floats);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
