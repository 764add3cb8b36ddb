// Work is queued as closures that hold plain pointers; the buffer is gone when the queue runs.
#include <functional>
#include <vector>

__global__ void scale(float* x, int n, float factor) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) x[i] *= factor;  // ACCESS
}

class Buffer {
 public:
  explicit Buffer(int n) : n_(n) {
    cudaMalloc(&data_, n * sizeof(float));  // ALLOC
  }
  Buffer(const Buffer&) = delete;
  ~Buffer() {
    cudaFree(data_);  // FREED
  }
  float* data() const { return data_; }
  int size() const { return n_; }

 private:
  float* data_ = nullptr;
  int n_;
};

std::vector<std::function<void()>> queue;

void add_step(int n) {
  Buffer buffer(n);
  cudaMemset(buffer.data(), 0, n * sizeof(float));
  queue.push_back([x = buffer.data(), n = buffer.size()] {
    scale<<<256, 256>>>(x, n, 0.5f);  // LAUNCH
  });
}

int main() {
  add_step(16 << 20);
  for (const auto& step : queue) step();
  return cudaDeviceSynchronize() != cudaSuccess;
}
