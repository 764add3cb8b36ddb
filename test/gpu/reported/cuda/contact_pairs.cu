// Pairs of bodies are appended with a counter; nobody compares it with the capacity of the buffer.
__global__ void collide(const float* radius, int bodies, int4* contacts, int* count) {
  int a = blockIdx.x, b = blockIdx.y * blockDim.x + threadIdx.x;
  if (a >= b || b >= bodies || radius[a] + radius[b] < 1) return;
  int slot = atomicAdd(count, 1);
  contacts[slot] = make_int4(a, b, 0, 0);  // ACCESS
}

__global__ void grow(float* radius, float value) { radius[blockIdx.x * blockDim.x + threadIdx.x] = value; }

int main() {
  const int bodies = 8192, capacity = 1 << 20;
  float* radius;
  int4* contacts;
  int* count;
  cudaMalloc(&radius, bodies * sizeof(float));
  cudaMalloc(&contacts, capacity * sizeof(int4));  // ALLOC
  cudaMalloc(&count, sizeof(int));
  for (float value : {0.25f, 0.75f}) {
    grow<<<bodies / 256, 256>>>(radius, value);
    cudaMemset(count, 0, sizeof(int));
    collide<<<dim3(bodies, bodies / 256), 256>>>(radius, bodies, contacts, count);  // LAUNCH
  }
  return cudaDeviceSynchronize() != cudaSuccess;
}
