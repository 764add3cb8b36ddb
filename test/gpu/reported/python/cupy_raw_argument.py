"""An elementwise kernel picks every 64th element of a raw argument; later the step is that of another array."""
import cupy

from here import or_skip

PICK = cupy.ElementwiseKernel("raw float32 table, int64 step", "float32 y", "y = table[i * step]", "pick")


def run(step):
    PICK(table, step, out)  # LAUNCH
    cupy.cuda.Device().synchronize()


out = cupy.zeros(1 << 14, dtype=cupy.float32)
table = cupy.ones(1 << 24, dtype=cupy.float32)  # ALLOC
or_skip(lambda: run(64))
run(1 << 16)
