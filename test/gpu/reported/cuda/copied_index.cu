// Indices are copied from a pinned buffer; at the third step, the host left a bad one in it.
__global__ void gather(const float* table, const long long* ids, float* out) {
  out[threadIdx.x] = table[ids[threadIdx.x]];  // ACCESS
}

int main() {
  const int n = 4 << 20, batch = 64;
  float *table, *out;
  long long *staging, *ids;
  cudaMalloc(&table, n * sizeof(float));  // ALLOC
  cudaMalloc(&out, batch * sizeof(float));
  cudaMalloc(&ids, batch * sizeof(long long));
  cudaMallocHost(&staging, batch * sizeof(long long));
  cudaStream_t s;
  cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
  for (int step = 0; step < 3; step++) {
    for (int i = 0; i < batch; i++) staging[i] = i + 1000 * step;
    if (step == 2) staging[33] = 0x100000000 * step + 33;
    cudaMemcpyAsync(ids, staging, batch * sizeof(long long), cudaMemcpyHostToDevice, s);
    gather<<<1, batch, 0, s>>>(table, ids, out);  // LAUNCH
    if (cudaStreamSynchronize(s) != cudaSuccess) return 1;
  }
  return 0;
}
