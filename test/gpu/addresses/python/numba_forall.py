"""Numba does not check bounds, and the launch is sized for a different array."""
import numpy

from here import or_skip

numpy.row_stack = numpy.vstack  # Numba needs a name that NumPy 2.5 has removed
cuda = or_skip(lambda: __import__("numba.cuda").cuda)


@cuda.jit
def negate(x):
    i = cuda.grid(1)
    x[i] = -x[i]  # ACCESS


def start():
    x = cuda.device_array(16 << 20, dtype=numpy.float32)  # ALLOC
    negate[64, 256](x)
    cuda.synchronize()
    return x


x = or_skip(start)
negate[(1 << 30) // 256, 256](x)  # LAUNCH
cuda.synchronize()
