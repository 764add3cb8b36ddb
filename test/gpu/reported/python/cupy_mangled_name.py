"""A kernel without extern "C" is looked up by its plain name, but the module knows only the mangled one."""
import cupy
import numpy

from here import or_skip

SOURCE = """
LINKAGE __global__ void scale(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= 2;
}"""


def run(linkage):
    kernel = cupy.RawModule(code=SOURCE.replace("LINKAGE", linkage)).get_function("scale")  # LAUNCH
    kernel((256,), (256,), (x, numpy.int32(x.size)))  # LAUNCH
    cupy.cuda.Device().synchronize()


x = cupy.ones(65536, dtype=cupy.float32)
or_skip(lambda: run('extern "C"'))
run("")  # LAUNCH
