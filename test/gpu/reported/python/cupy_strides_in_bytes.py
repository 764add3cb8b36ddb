"""A raw kernel counts its stride in elements, but the strides of an array are in bytes."""
import cupy
import numpy

from here import or_skip

ROW_SUMS = cupy.RawKernel("""
extern "C" __global__ void row_sums(const float* x, long long stride, float* out) {
  const float* row = x + blockIdx.x * stride;
  atomicAdd(&out[blockIdx.x], row[threadIdx.x]);
}""", "row_sums")


def run(stride):
    out.fill(0)
    ROW_SUMS((x.shape[0],), (256,), (x, numpy.int64(stride), out))  # LAUNCH
    cupy.cuda.Device().synchronize()


out = cupy.zeros(1 << 14, dtype=cupy.float32)
x = cupy.ones((1 << 14, 1 << 14), dtype=cupy.float32)  # ALLOC
or_skip(lambda: run(x.shape[1]))
run(x.strides[0])
