// A library without any Python code, called through ctypes.
__global__ void smooth_kernel(float* p, long n) { p[n + threadIdx.x] = 0.5f * p[threadIdx.x]; }

static float* field = nullptr;

extern "C" int smooth_open() { return cudaMalloc(&field, 4096); }

extern "C" void smooth_step(long offset) {
  smooth_kernel<<<1, 32>>>(field, offset);  // TRUE LINE, BLAMED
}

extern "C" int smooth_finish() {
  return cudaDeviceSynchronize();  // BLAMED
}
