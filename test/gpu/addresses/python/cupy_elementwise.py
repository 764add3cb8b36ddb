"""An elementwise kernel with a raw operand computes its index with a wrong stride."""
import cupy

from here import or_skip

sample = cupy.ElementwiseKernel("raw T x, int64 stride", "T y", "y = x[i * stride]", "sample")
x = cupy.zeros(16 << 20, dtype=cupy.float32)  # ALLOC
y = cupy.zeros(1024, dtype=cupy.float32)
or_skip(lambda: (sample(x, 4, y), cupy.cuda.Device().synchronize()))
sample(x, 1 << 30, y)  # LAUNCH
cupy.cuda.Device().synchronize()
