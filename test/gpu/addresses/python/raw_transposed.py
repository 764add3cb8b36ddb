"""The shape of a transposed view is used with the memory of its base: the pitch is wrong by a factor of 16384."""
import cupy

from here import or_skip

clear = cupy.RawKernel("""
extern "C" __global__ void clear(float* x, long long rows, long long pitch) {
  long long row = blockIdx.x;
  if (row < rows) x[row * pitch + threadIdx.x] = 0;
}""", "clear")
x = cupy.empty((1 << 20, 64), dtype=cupy.float32)  # ALLOC
shape = cupy.int64(x.shape[0]), cupy.int64(x.shape[1])
or_skip(lambda: (clear((1 << 20,), (64,), (x, *shape)), cupy.cuda.Device().synchronize()))
turned = x.T
clear((1 << 20,), (64,), (turned, cupy.int64(1 << 20), cupy.int64(turned.shape[1])))  # LAUNCH
cupy.cuda.Device().synchronize()
