// A pool has a maximal size. The second buffer exceeds it, although the device has enough memory.
struct Buffers {
  cudaMemPool_t pool = nullptr;
  cudaStream_t stream = nullptr;

  explicit Buffers(size_t most) {
    cudaMemPoolProps props = {};
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    props.location.id = 0;
    props.maxSize = most;
    cudaStreamCreate(&stream);
    if (cudaMemPoolCreate(&pool, &props) != cudaSuccess) pool = nullptr;
  }
  cudaError_t take(void** buffer, size_t bytes) {
    return cudaMallocFromPoolAsync(buffer, bytes, pool, stream);  // LAUNCH
  }
};

int main() {
  const size_t megabyte = 1 << 20;
  Buffers buffers(256 * megabyte);
  void *first, *second;
  if (!buffers.pool || buffers.take(&first, 200 * megabyte) != cudaSuccess) return 77;
  cudaMemsetAsync(first, 0, 200 * megabyte, buffers.stream);
  if (cudaStreamSynchronize(buffers.stream) != cudaSuccess) return 77;
  return buffers.take(&second, 200 * megabyte) != cudaSuccess;
}
