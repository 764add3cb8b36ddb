// Atoms outside of the periodic box are moved by one period. One atom is many periods away, and so is its bin.
const int BINS = 256;

__device__ int bin_of(float position) {
  if (position >= BINS) position -= BINS;
  if (position < 0) position += BINS;
  return static_cast<int>(position);
}

__global__ void count(int* counts, const float3* atoms, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  size_t bin = (size_t(bin_of(atoms[i].z)) * BINS + bin_of(atoms[i].y)) * BINS + bin_of(atoms[i].x);
  atomicAdd(&counts[bin], 1);  // ACCESS
}

int main() {
  const int n = 1 << 16;
  int* counts;
  float3* atoms;
  cudaMalloc(&atoms, n * sizeof(float3));
  cudaMalloc(&counts, BINS * BINS * BINS * sizeof(int));  // ALLOC
  cudaMemset(atoms, 0, n * sizeof(float3));
  cudaMemset(counts, 0, BINS * BINS * BINS * sizeof(int));
  count<<<n / 256, 256>>>(counts, atoms, n);  // LAUNCH
  if (cudaDeviceSynchronize() != cudaSuccess) return 77;
  const float3 lost = {1.5f, 2.5f, 500000.0f};
  cudaMemcpy(atoms + 1234, &lost, sizeof lost, cudaMemcpyHostToDevice);
  count<<<n / 256, 256>>>(counts, atoms, n);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
