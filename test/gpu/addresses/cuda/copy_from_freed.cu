// A device-to-device copy whose source was freed.
int main() {
  float *old_buffer, *new_buffer;
  cudaMalloc(&old_buffer, 128 << 20);  // ALLOC
  cudaMalloc(&new_buffer, 256 << 20);
  cudaFree(old_buffer);                                                                     // FREED
  cudaError_t e = cudaMemcpy(new_buffer, old_buffer, 128 << 20, cudaMemcpyDeviceToDevice);  // LAUNCH
  return e != cudaSuccess || cudaDeviceSynchronize() != cudaSuccess;
}
