// The host waits for the event of the only kernel that reads the mapped table, while a kernel that does not is running.
// No public report.
#include "../bounded.cuh"

__global__ void look_up(const short* table, int* out) { out[threadIdx.x] = table[threadIdx.x * 3 % 512]; }

int main() {
  short* table = mapped<short>(512);
  int* out = on_device<int>(256);
  cudaStream_t stream = new_stream(), other = new_stream();
  cudaEvent_t read = new_event();
  busy<<<1, 1, 0, other>>>(ticks(0.5));
  for (int step = 1; step < 4; ++step) {
    look_up<<<1, 256, 0, stream>>>(table, out);
    cudaEventRecord(read, stream);
    cudaEventSynchronize(read);
    for (int i = 0; i < 512; ++i) table[i] = static_cast<short>(step * i);
    busy<<<1, 1, 0, stream>>>(ticks(0.02));
  }
  return finished();
}
