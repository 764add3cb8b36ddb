"""A CuPy RawKernel that stores far outside its array."""
import sys

import cupy

store = cupy.RawKernel(
    'extern "C" __global__ void stray_store(float* p, long long n) { p[n + threadIdx.x] = 1; }', "stray_store"
)
p = cupy.zeros(256, dtype=cupy.float32)
try:
    store((1,), (32,), (p, cupy.int64(0)))
    cupy.cuda.Device().synchronize()
except Exception as e:
    print("CuPy does not work here:", e, file=sys.stderr)
    sys.exit(77)
store((1,), (32,), (p, cupy.int64(1 << 40)))  # TRUE LINE
cupy.cuda.Device().synchronize()  # BLAMED
