// A finished chunk is copied out while the next one is computed; the copy includes one row of the next chunk.
// Report: https://github.com/ggml-org/llama.cpp/issues/18310 (an asynchronous copy of results during the next step)
#include "../bounded.cuh"

__global__ void compute(float* chunk, int width, int rows, float what) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x < width && y < rows) chunk[y * width + x] = what + x;
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const int width = 256, rows = 32, chunk = width * rows;
  float *results = on_device<float>(2 * chunk), *host = pinned<float>(chunk + width);
  cudaStream_t work = new_stream(), copying = new_stream();
  cudaEvent_t done = new_event();
  compute<<<dim3(2, rows), 128, 0, work>>>(results, width, rows, 1);
  cudaEventRecord(done, work);
  cudaStreamWaitEvent(copying, done);
  const size_t bytes = (corrected ? rows : rows + 1) * width * sizeof(float);
  cudaMemcpyAsync(host, results, bytes, cudaMemcpyDeviceToHost, copying);     // FIRST
  compute<<<dim3(2, rows), 128, 0, work>>>(results + chunk, width, rows, 2);  // SECOND
  return finished();
}
