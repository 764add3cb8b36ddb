// A second host thread continues on its own stream after the event that the first thread recorded.
// No public report.
#include <future>
#include <thread>

#include "../bounded.cuh"

__global__ void add(int* values, int what) { values[blockIdx.x * blockDim.x + threadIdx.x] += what; }

int main() {
  int* values = on_device<int>(2048);
  std::promise<cudaEvent_t> added;
  std::thread other([&] {
    cudaStream_t stream = new_stream();
    cudaStreamWaitEvent(stream, added.get_future().get());
    add<<<8, 256, 0, stream>>>(values, 2);
    cudaStreamSynchronize(stream);
  });
  cudaStream_t stream = new_stream();
  cudaEvent_t done = new_event();
  add<<<8, 256, 0, stream>>>(values, 1);
  cudaEventRecord(done, stream);
  added.set_value(done);
  other.join();
  add<<<8, 256, 0, stream>>>(values, 3);
  return finished();
}
