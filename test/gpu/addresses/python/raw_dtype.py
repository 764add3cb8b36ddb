"""A kernel for doubles gets an array of floats."""
import cupy

from here import or_skip

scale = cupy.RawKernel("""
extern "C" __global__ void scale(double* x, size_t n) {
  size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
  if (i < n) x[i] *= 2;
}""", "scale")
n = 1 << 29
x = cupy.empty(n, dtype=cupy.float32)  # ALLOC
or_skip(lambda: (scale((1,), (256,), (x, cupy.uint64(256))), cupy.cuda.Device().synchronize()))
scale((n // 256,), (256,), (x, cupy.uint64(n)))  # LAUNCH
cupy.cuda.Device().synchronize()
