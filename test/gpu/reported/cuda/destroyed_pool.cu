// A solver has its own pool of memory; its result is read after the solver has released the pool.
__global__ void solve(float* x, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) x[i] = i;
}

__global__ void copy(const float* x, float* out, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = x[i];  // ACCESS
}

float* run_solver(cudaStream_t stream, int n) {
  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  cudaMemPool_t pool;
  float* x = nullptr;
  if (cudaMemPoolCreate(&pool, &properties) != cudaSuccess) return nullptr;
  cudaMallocFromPoolAsync(&x, n * sizeof(float), pool, stream);  // ALLOC
  solve<<<256, 256, 0, stream>>>(x, n);
  cudaFreeAsync(x, stream);  // FREED
  cudaStreamSynchronize(stream);
  cudaMemPoolDestroy(pool);  // FREED
  return x;
}

int main() {
  const int n = 16 << 20;
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  float* out;
  cudaMalloc(&out, n * sizeof(float));
  const float* x = run_solver(stream, n);
  if (!x) return 77;
  copy<<<256, 256, 0, stream>>>(x, out, n);  // LAUNCH
  return cudaStreamSynchronize(stream) != cudaSuccess;
}
