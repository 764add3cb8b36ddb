"""A Numba kernel that stores far outside its array."""
import sys

import numpy

numpy.row_stack = numpy.vstack  # Numba needs a name that NumPy 2.5 has removed
from numba import cuda  # noqa: E402


@cuda.jit
def stray_store(p, n):
    p[n + cuda.threadIdx.x] = 1


try:
    p = cuda.to_device(numpy.zeros(256, dtype=numpy.float32))
    stray_store[1, 32](p, 0)
    cuda.synchronize()
except Exception as e:
    print("Numba does not work here:", e, file=sys.stderr)
    sys.exit(77)
stray_store[1, 32](p, 1 << 40)  # TRUE LINE
cuda.synchronize()  # BLAMED
