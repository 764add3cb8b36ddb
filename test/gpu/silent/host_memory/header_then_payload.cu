// Messages are packed into one pinned buffer: a header, then the payload. The next message's header is written while
// the upload of this one is queued.
// Report: https://github.com/1bit-MONSTER/1bit-MONSTER/pull/2436
#include <cstring>

#include "../bounded.cuh"

struct Header {
  int number, words;
  char name[24];
};

static void open_message(char* buffer, int number) {
  Header header{number, 1024, {}};
  snprintf(header.name, sizeof header.name, "message %d", number);
  memcpy(buffer, &header, sizeof header);  // HOST
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const size_t bytes = sizeof(Header) + 1024 * sizeof(int);
  char *buffer = pinned<char>(bytes), *device = on_device<char>(bytes);
  cudaStream_t stream = new_stream();
  busy<<<1, 1, 0, stream>>>(ticks(0.2));
  open_message(buffer, 1);
  cudaMemcpyAsync(device, buffer, bytes, cudaMemcpyHostToDevice, stream);  // COPY
  if (corrected) cudaStreamSynchronize(stream);
  open_message(buffer, 2);
  cudaStreamSynchronize(stream);
  return finished();
}
