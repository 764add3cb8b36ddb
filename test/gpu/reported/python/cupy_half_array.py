"""A raw kernel for floats gets an array of half precision, which has half of the bytes."""
import cupy
import numpy

from here import or_skip

SCALE = cupy.RawKernel("""
extern "C" __global__ void scale(float* x, float factor, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) x[i] *= factor;
}""", "scale")


def run(x):
    SCALE((256,), (256,), (x, numpy.float32(0.5), numpy.int32(x.size)))  # LAUNCH
    cupy.cuda.Device().synchronize()


single = cupy.ones(1 << 20, dtype=cupy.float32)
half = cupy.ones(512 << 20, dtype=cupy.float16)  # ALLOC
or_skip(lambda: run(single))
run(half)  # LAUNCH
