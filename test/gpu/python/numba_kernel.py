"""A Numba kernel that stores far outside its array."""
import sys

import numpy
from numba import cuda


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
