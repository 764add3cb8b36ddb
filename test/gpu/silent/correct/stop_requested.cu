// A kernel iterates until the host asks it to stop, by a flag in mapped memory that it reads as volatile.
// No public report.
#include <chrono>
#include <thread>

#include "../bounded.cuh"

__global__ void iterate(const volatile int* stop, float* values, long long most) {
  const long long start = clock64();
  float value = values[threadIdx.x];
  while (*stop == 0 && clock64() - start < most) value = 0.5f * value + 1;
  values[threadIdx.x] = value;
}

int main() {
  int* stop = mapped<int>(1);
  *stop = 0;
  float* values = on_device<float>(128);
  cudaStream_t stream = new_stream();
  iterate<<<1, 128, 0, stream>>>(stop, values, ticks(2));
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  *static_cast<volatile int*>(stop) = 1;
  return finished();
}
