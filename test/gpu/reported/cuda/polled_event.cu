// The host polls an event until its kernel has ended; "not ready" is an answer, not a failure. The program succeeds.
__global__ void wait_a_while(long long cycles) {
  long long start = clock64();
  while (clock64() - start < cycles) {
  }
}

int main() {
  cudaEvent_t done;
  cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
  wait_a_while<<<1, 1>>>(20'000'000);
  cudaEventRecord(done);
  cudaError_t state;
  while ((state = cudaEventQuery(done)) == cudaErrorNotReady) {
  }
  return state != cudaSuccess || cudaDeviceSynchronize() != cudaSuccess;
}
