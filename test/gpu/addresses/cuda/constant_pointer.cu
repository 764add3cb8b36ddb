// A pointer in constant memory is never set.
__constant__ const float* window;

__global__ void apply_window(float* samples) { samples[threadIdx.x] *= window[threadIdx.x]; }  // ACCESS

int main() {
  float *samples, *device_window;
  cudaMalloc(&samples, 4096);
  cudaMalloc(&device_window, 4096);   // never copied to `window`: cudaMemcpyToSymbol is missing
  apply_window<<<1, 256>>>(samples);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
