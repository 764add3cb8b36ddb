"""The pointer and the length are swapped in the tuple of arguments. Both are eight bytes long."""
import cupy

from here import or_skip

shift = cupy.RawKernel("""
extern "C" __global__ void shift(float* x, long long n, float by) {
  if (threadIdx.x < n) x[threadIdx.x] += by;
}""", "shift")
x = cupy.zeros(1 << 20, dtype=cupy.float32)
n, by = cupy.int64(x.size), cupy.float32(1)
or_skip(lambda: (shift((1,), (64,), (x, n, by)), cupy.cuda.Device().synchronize()))
shift((1,), (64,), (n, x, by))  # LAUNCH
cupy.cuda.Device().synchronize()
