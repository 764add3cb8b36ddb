"""A kernel that CuPy compiles from Python stores far outside its array."""
import sys
import warnings

import cupy
from cupyx import jit

warnings.simplefilter("ignore")


@jit.rawkernel()
def stray_store(p, n):
    p[n + jit.threadIdx.x] = cupy.float32(1)


p = cupy.zeros(256, dtype=cupy.float32)
try:
    stray_store((1,), (32,), (p, cupy.int64(0)))
    cupy.cuda.Device().synchronize()
except Exception as e:
    print("cupyx.jit does not work here:", e, file=sys.stderr)
    sys.exit(77)
stray_store((1,), (32,), (p, cupy.int64(1 << 40)))  # TRUE LINE
cupy.cuda.Device().synchronize()  # BLAMED
