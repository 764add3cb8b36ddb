"""Two CuPy streams change two slices of one array; the slices share an element.

Related: https://github.com/cupy/cupy/issues/8068 (users order streams themselves)
"""
import sys

import cupy

corrected = len(sys.argv) > 1
samples = cupy.ones(10_000, dtype=cupy.float32)
left, right = cupy.cuda.Stream(non_blocking=True), cupy.cuda.Stream(non_blocking=True)
shift = cupy.RawKernel(
    r"""extern "C" __global__ void shift(float* values, int count, float by) {
          for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) values[i] += by;
        }""", "shift")
split = 5000
head = samples[:split if corrected else split + 1]
tail = samples[split:]
shift((1,), (32,), (samples, cupy.int32(0), cupy.float32(0)))
cupy.cuda.Device().synchronize()
with left:
    shift((8,), (128,), (head, cupy.int32(head.size), cupy.float32(1)))  # FIRST
with right:
    shift((8,), (128,), (tail, cupy.int32(tail.size), cupy.float32(-1)))  # SECOND
cupy.cuda.Device().synchronize()
print(float(samples.sum()))
