"""A CuPy ElementwiseKernel, called by a method, that reads a raw array far out of bounds."""
import sys

import cupy


class Gather:
    kernel = cupy.ElementwiseKernel("raw float32 table, int64 index", "float32 y", "y = table[index]", "stray_gather")

    def __call__(self, table, indices):
        return self.kernel(table, indices)  # TRUE LINE


gather = Gather()
try:
    table = cupy.arange(256, dtype=cupy.float32)
    gather(table, cupy.arange(8, dtype=cupy.int64))
    cupy.cuda.Device().synchronize()
except Exception as e:
    print("CuPy does not work here:", e, file=sys.stderr)
    sys.exit(77)
y = gather(table, cupy.full(8, 1 << 40, dtype=cupy.int64))
print(float(y.sum()))  # BLAMED
