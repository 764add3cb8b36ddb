"""A raw kernel gets the number of a layer's checkpoint where it expects an array."""
import cupy

from here import or_skip

add = cupy.RawKernel("""
extern "C" __global__ void add(float* x, const float* residual) { x[threadIdx.x] += residual[threadIdx.x]; }""", "add")
x, residual = cupy.zeros(256, dtype=cupy.float32), cupy.ones(256, dtype=cupy.float32)
or_skip(lambda: (add((1,), (256,), (x, residual)), cupy.cuda.Device().synchronize()))
checkpoint = 20_250_416
add((1,), (256,), (x, cupy.int64(checkpoint)))  # LAUNCH
cupy.cuda.Device().synchronize()
