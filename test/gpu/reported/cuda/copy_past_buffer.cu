// A message is unpacked from a buffer that is shorter than the last piece needs.
#include <cstdio>

struct Message {
  char* bytes;
  size_t size;

  explicit Message(size_t size) : size(size) { cudaMalloc(&bytes, size); }
};

bool unpack(const Message& from, size_t begin, size_t size, const Message& to, cudaStream_t stream) {
  cudaError_t error = cudaMemcpyAsync(to.bytes, from.bytes + begin, size, cudaMemcpyDeviceToDevice, stream);  // LAUNCH
  if (error == cudaSuccess) error = cudaStreamSynchronize(stream);
  if (error != cudaSuccess) fprintf(stderr, "unpack: %s\n", cudaGetErrorString(error));
  return error == cudaSuccess;
}

int main() {
  const size_t piece = 48 << 20;
  const Message inbox(64 << 20), outbox(96 << 20);
  cudaStream_t stream;
  if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess) return 77;
  cudaMemset(inbox.bytes, 0, inbox.size);
  if (!unpack(inbox, 0, piece, outbox, stream)) return 77;
  return unpack(inbox, piece, piece, outbox, stream) ? 0 : 1;
}
