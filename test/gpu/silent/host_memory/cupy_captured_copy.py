"""A stream is captured with a copy out of a pinned NumPy array, and the array changes after the launch.

Related: https://github.com/cupy/cupy/pull/5155
"""
import sys

import cupy
import cupyx

corrected = len(sys.argv) > 1
delay = cupy.RawKernel(
    r"""extern "C" __global__ void delay(long long most) {
          for (long long start = clock64(); clock64() - start < most;) {}
        }""", "delay")
host = cupyx.empty_pinned((20_000,), dtype=cupy.int64)
host[:] = 1
device = cupy.zeros(host.shape, dtype=host.dtype)
delay((1,), (1,), (cupy.int64(1),))
stream = cupy.cuda.Stream(non_blocking=True)
cupy.cuda.Device().synchronize()
with stream:
    stream.begin_capture()
    device.data.copy_from_host_async(host.ctypes.data, host.nbytes, stream)  # CAPTURE
    graph = stream.end_capture()
    delay((1,), (1,), (cupy.int64(200_000_000),))
    graph.launch(stream)  # REPLAY
    if corrected:
        stream.synchronize()
host[5000:10_000] = 2  # HOST
cupy.cuda.Device().synchronize()
print(int(device.sum()))
