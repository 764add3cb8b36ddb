// A kernel reads a table through a texture object while another stream copies the next table into it.
// Related: https://github.com/shader-slang/slangpy/issues/345
#include "../bounded.cuh"

__global__ void look_up(cudaTextureObject_t table, float* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = tex1Dfetch<float>(table, i);
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const int count = 4096;
  float *table = on_device<float>(count), *next = on_device<float>(count), *out = on_device<float>(count);
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear = {table, cudaCreateChannelDesc<float>(), count * sizeof(float)};
  cudaTextureDesc description{};
  description.readMode = cudaReadModeElementType;
  cudaTextureObject_t texture;
  cudaCreateTextureObject(&texture, &resource, &description, nullptr);
  cudaStream_t reading = new_stream(), loading = new_stream();
  cudaEvent_t read = new_event();
  look_up<<<count / 256, 256, 0, reading>>>(texture, out, count);  // FIRST
  cudaEventRecord(read, reading);
  if (corrected) cudaStreamWaitEvent(loading, read);
  cudaMemcpyAsync(table, next, count * sizeof(float), cudaMemcpyDeviceToDevice, loading);  // SECOND
  return finished();
}
