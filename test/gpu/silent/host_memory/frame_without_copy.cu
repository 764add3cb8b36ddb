// A filter reads camera frames where the camera's driver puts them. The next frame comes before the filter has run.
// Related: https://github.com/NVIDIA/DALI/pull/1493 (the next iteration overwrites a host buffer under a copy)
#include "../bounded.cuh"

static const int width = 640, height = 48;

__global__ void blur(const unsigned char* frame, unsigned char* out) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x == 0 || x >= width - 1) return;
  const unsigned char* at = frame + y * width + x;
  out[y * width + x] = static_cast<unsigned char>((at[-1] + 2 * at[0] + at[1]) / 4);  // READS
}

static void receive(unsigned char* frame, int number) {
  for (int i = 0; i < width * height; ++i) frame[i] = static_cast<unsigned char>(number + i);  // HOST
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  unsigned char *frame = mapped<unsigned char>(width * height), *out = on_device<unsigned char>(width * height);
  cudaStream_t stream = new_stream();
  busy<<<1, 1, 0, stream>>>(ticks(0.2));
  for (int number = 2; number < 5; ++number) {
    receive(frame, number);
    blur<<<dim3((width + 127) / 128, height), 128, 0, stream>>>(frame, out);  // LAUNCH
    if (corrected) cudaStreamSynchronize(stream);
  }
  return finished();
}
