// An event is recorded after it was destroyed with the pool that it came from.
#include <vector>

__global__ void work(float* x) { x[threadIdx.x] += 1; }

struct Events {
  std::vector<cudaEvent_t> free;
  Events() : free(4) {
    for (cudaEvent_t& event : free) cudaEventCreate(&event);
  }
  ~Events() {
    for (cudaEvent_t event : free) cudaEventDestroy(event);
  }
};

int main() {
  float* x;
  cudaMalloc(&x, 256 * sizeof(float));
  cudaEvent_t done;
  {
    Events events;
    done = events.free.front();
  }
  work<<<1, 256>>>(x);
  if (cudaEventRecord(done) != cudaSuccess) return 1;  // LAUNCH
  return cudaEventSynchronize(done) != cudaSuccess;
}
