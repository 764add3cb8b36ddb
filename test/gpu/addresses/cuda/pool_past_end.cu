// An index far past the end of memory from a stream-ordered pool.
__global__ void scatter(float* out, const long long* at, float value) { out[at[threadIdx.x]] = value; }  // ACCESS

int main() {
  cudaStream_t s;
  cudaStreamCreate(&s);
  long long host[32], *at;
  for (int i = 0; i < 32; ++i) host[i] = i == 31 ? 5LL << 30 : i;
  float* out;
  cudaMallocAsync(&at, sizeof host, s);
  cudaMallocAsync(&out, 32 << 20, s);  // ALLOC
  cudaMemcpyAsync(at, host, sizeof host, cudaMemcpyHostToDevice, s);
  scatter<<<1, 32, 0, s>>>(out, at, 1);  // LAUNCH
  return cudaStreamSynchronize(s) != cudaSuccess;
}
