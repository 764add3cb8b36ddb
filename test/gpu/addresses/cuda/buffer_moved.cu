// A buffer was moved into a container, but its old owner is still used. The owner's pointer is now null.
#include <utility>
#include <vector>

class Buffer {
 public:
  explicit Buffer(size_t bytes) { cudaMalloc(&data_, bytes); }
  Buffer(Buffer&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  ~Buffer() { cudaFree(data_); }
  float* data() const { return data_; }

 private:
  float* data_ = nullptr;
};

__global__ void scale(const float* in, float* out, float by) { out[threadIdx.x] = in[threadIdx.x] * by; }  // ACCESS

int main() {
  Buffer in(4096), out(4096);
  std::vector<Buffer> kept;
  kept.push_back(std::move(out));
  scale<<<1, 64>>>(in.data(), out.data(), 2);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
