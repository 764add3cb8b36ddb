"""A reversed view goes to a raw kernel: its address is that of the last element, and the kernel reads upwards."""
import cupy
import numpy

from here import or_skip

TOTAL = cupy.RawKernel("""
extern "C" __global__ void total(const float* x, float* sum, int n) {
  float mine = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) mine += x[i];
  atomicAdd(sum, mine);
}""", "total")


def run(x):
    TOTAL((1024,), (256,), (x, out, numpy.int32(x.size)))  # LAUNCH
    cupy.cuda.Device().synchronize()


out = cupy.zeros(1, dtype=cupy.float32)
signal = cupy.ones(384 << 20, dtype=cupy.float32)  # ALLOC
or_skip(lambda: run(signal))
run(signal[::-1])  # LAUNCH
