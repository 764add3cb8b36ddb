"""A reversed view goes to a raw kernel together with its stride. The program succeeds."""
import cupy
import numpy

COPY = cupy.RawKernel("""
extern "C" __global__ void copy(const float* x, long long stride, float* out, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = x[i * stride];
}""", "copy")

x = cupy.arange(1 << 20, dtype=cupy.float32)
out = cupy.zeros_like(x)
view = x[::-1]
COPY((256,), (256,), (view, numpy.int64(view.strides[0] // view.itemsize), out, numpy.int32(view.size)))
assert float(out[0]) == x.size - 1 and float(out[-1]) == 0
