// Stands in for PyTorch's libc10_cuda.so: an allocator with its own limit.
namespace c10 {

struct Device {
  signed char kind, number;
};
void reportOutOfMemoryToProfiler(long bytes, unsigned long allocated, unsigned long reserved, Device device);

}  // namespace c10

// Returns whether the allocation fails.
extern "C" [[gnu::visibility("default")]] int allocate(long bytes, long limit) {
  if (bytes <= limit) return 0;
  c10::reportOutOfMemoryToProfiler(bytes, 0, 0, {1, 0});
  return 1;
}
