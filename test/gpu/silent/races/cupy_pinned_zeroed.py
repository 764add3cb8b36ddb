"""A pinned NumPy array is cleared as soon as CuPy has issued its copy.

Report: https://github.com/cupy/cupy/pull/5155
"""
import sys

import cupy
import cupyx

corrected = len(sys.argv) > 1
delay = cupy.RawKernel(
    r"""extern "C" __global__ void delay(long long most) {
          for (long long start = clock64(); clock64() - start < most;) {}
        }""", "delay")
host = cupyx.empty_pinned((100_000,), dtype=cupy.float32)
host[:] = 1
device = cupy.zeros(host.shape, dtype=host.dtype)
stream = cupy.cuda.Stream(non_blocking=True)
cupy.cuda.Device().synchronize()
with stream:
    delay((1,), (1,), (cupy.int64(200_000_000),))
    device.set(host, stream=stream)  # FIRST
    if corrected:
        stream.synchronize()
host[:] = 0  # HOST
cupy.cuda.Device().synchronize()
print(float(device.sum()))
