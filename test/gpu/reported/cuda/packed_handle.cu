// Handles keep a generation in the upper 16 bits of an address; one kernel forgets to remove it.
__device__ float* body_of(unsigned long long handle) { return reinterpret_cast<float*>(handle & 0xffffffffffff); }

__global__ void move(const unsigned long long* handles, float step) {
  body_of(handles[blockIdx.x])[threadIdx.x] += step;
}

__global__ void draw(const unsigned long long* handles, float* image) {
  const float* body = reinterpret_cast<const float*>(handles[blockIdx.x]);
  image[blockIdx.x * blockDim.x + threadIdx.x] = body[threadIdx.x];  // ACCESS
}

int main() {
  unsigned long long host[4], *handles;
  float *bodies, *image;
  cudaMalloc(&bodies, 4 * 64 * sizeof(float));
  cudaMalloc(&image, 4 * 64 * sizeof(float));
  cudaMalloc(&handles, sizeof host);
  for (unsigned long long i = 0; i < 4; i++)
    host[i] = reinterpret_cast<unsigned long long>(bodies + 64 * i) | (i + 1) << 48;
  cudaMemcpy(handles, host, sizeof host, cudaMemcpyHostToDevice);
  move<<<4, 64>>>(handles, 0.5f);
  draw<<<4, 64>>>(handles, image);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
