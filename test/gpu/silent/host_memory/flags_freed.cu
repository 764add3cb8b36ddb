// A captured memset clears pinned flags. They are freed, and the graph runs once more.
// No public report.
#include "../bounded.cuh"

__global__ void raise(unsigned* flags) { flags[threadIdx.x] = 1; }

int main(int argc, char**) {
  const bool corrected = argc > 1;
  unsigned* flags = pinned<unsigned>(256);
  cudaStream_t stream = new_stream();
  cudaGraphExec_t clear = captured(stream, [&] {
    cudaMemsetAsync(flags, 0, 256 * sizeof(unsigned), stream);  // CAPTURE
  });
  cudaGraphLaunch(clear, stream);
  raise<<<1, 256, 0, stream>>>(flags);
  cudaStreamSynchronize(stream);
  if (!corrected) cudaFreeHost(flags);  // HOST
  cudaGraphLaunch(clear, stream);       // REPLAY
  return finished();
}
