// The first stream's kernel spins; the second stream waits for its event, the third for the second's, and the host for
// the third.
// Related: https://github.com/sirius-db/sirius/pull/393 (streams that wait for each other's events)
#include "../bounded.cuh"

__global__ void wait_for(const int* word, int value, long long most) { appears(word, value, most); }  // SPINS

int main() {
  int *word = on_device<int>(1), *memory = on_device<int>(64);
  cudaStream_t first = new_stream(), second = new_stream(), third = new_stream();
  cudaEvent_t first_done = new_event(), second_done = new_event(), third_done = new_event();
  wait_for<<<1, 1, 0, first>>>(word, 0, ticks(1));
  cudaDeviceSynchronize();
  wait_for<<<1, 1, 0, first>>>(word, 1, ticks(8));  // STUCK
  cudaEventRecord(first_done, first);
  cudaStreamWaitEvent(second, first_done);
  cudaMemsetAsync(memory, 1, 128, second);
  cudaEventRecord(second_done, second);
  cudaStreamWaitEvent(third, second_done);
  cudaMemsetAsync(memory + 32, 2, 128, third);
  cudaEventRecord(third_done, third);
  cudaEventSynchronize(third_done);  // WAITS
  return finished();
}
