// The owner of the memory is a temporary, gone before the launch.
template <typename T>
class Buffer {
 public:
  explicit Buffer(size_t n) { cudaMalloc(&data_, n * sizeof(T)); }  // ALLOC
  ~Buffer() { cudaFree(data_); }                                    // FREED
  T* data() const { return data_; }

 private:
  T* data_ = nullptr;
};

__global__ void ramp(int* out) { out[threadIdx.x] = threadIdx.x; }  // ACCESS

int main() {
  Buffer<int> kept(1024);
  ramp<<<1, 32>>>(kept.data());
  int* out = Buffer<int>(64 << 20).data();
  ramp<<<1, 32>>>(out);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
