"""Numba: a lag that is far larger than the series gives negative indices, which are not checked."""
import numpy

from here import or_skip

numpy.row_stack = numpy.vstack  # Numba needs a name that NumPy 2.5 has removed
cuda = or_skip(lambda: __import__("numba.cuda").cuda)


@cuda.jit
def differences(series, out, lag):
    i = cuda.grid(1)
    if i < out.shape[0]:
        out[i] = series[i] - series[i - lag]  # ACCESS


def start():
    series = cuda.device_array(1 << 20, dtype=numpy.float32)  # ALLOC
    out = cuda.device_array(1 << 20, dtype=numpy.float32)
    differences[4096, 256](series, out, 1)
    cuda.synchronize()
    return series, out


series, out = or_skip(start)
differences[4096, 256](series, out, 1 << 30)  # LAUNCH
cuda.synchronize()
