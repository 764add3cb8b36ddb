"""A kernel that CuPy compiles from Python reads its index from memory."""
import cupy
from cupyx import jit

from here import or_skip


@jit.rawkernel()
def pick(x, at, y):
    i = jit.threadIdx.x
    y[i] = x[at[i]]


x = cupy.zeros(16 << 20, dtype=cupy.float32)  # ALLOC
at, y = cupy.zeros(64, dtype=cupy.int64), cupy.zeros(64, dtype=cupy.float32)
or_skip(lambda: (pick((1,), (64,), (x, at, y)), cupy.cuda.Device().synchronize()))
at[9] = 1 << 30
pick((1,), (64,), (x, at, y))  # LAUNCH
cupy.cuda.Device().synchronize()
