"""The size is passed in bytes, but the kernel counts elements."""
import cupy

from here import or_skip

fill = cupy.RawKernel("""
extern "C" __global__ void fill(float* x, size_t n, float value) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x)
    x[i] = value;
}""", "fill")
x = cupy.empty(1 << 28, dtype=cupy.float32)  # ALLOC
or_skip(lambda: (fill((64,), (256,), (x, cupy.uint64(4096), cupy.float32(1))), cupy.cuda.Device().synchronize()))
fill((1024,), (256,), (x, cupy.uint64(x.nbytes), cupy.float32(1)))  # LAUNCH
cupy.cuda.Device().synchronize()
