"""A CuPy kernel reads a pinned NumPy array at its own address. The array is sorted before the kernel has run.

Related: https://github.com/cupy/cupy/pull/5155
"""
import sys

import cupy
import cupyx

corrected = len(sys.argv) > 1
kernels = cupy.RawModule(code=r"""
extern "C" __global__ void delay(long long most) {
  for (long long start = clock64(); clock64() - start < most;) {}
}
extern "C" __global__ void square(const float* in, float* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = in[i] * in[i];
}""")
host = cupyx.empty_pinned((10_000,), dtype=cupy.float32)
host[:] = range(10_000, 0, -1)
squares = cupy.zeros(host.shape, dtype=host.dtype)
stream = cupy.cuda.Stream(non_blocking=True)
delay, square = kernels.get_function("delay"), kernels.get_function("square")
cupy.cuda.Device().synchronize()
with stream:
    delay((1,), (1,), (cupy.int64(200_000_000),))
    square((40,), (256,), (cupy.uint64(host.ctypes.data), squares, cupy.int32(host.size)))  # LAUNCH
    if corrected:
        stream.synchronize()
host.sort()  # HOST
cupy.cuda.Device().synchronize()
print(float(squares[0]))
