"""An array on GPU 1 is passed to a raw kernel while GPU 0 is current."""
import cupy

from here import or_skip

scale = cupy.RawKernel('extern "C" __global__ void scale(float* x, float by) { x[threadIdx.x] *= by; }', "scale")
here = cupy.ones(1 << 20, dtype=cupy.float32)
with cupy.cuda.Device(1):
    there = or_skip(lambda: cupy.ones(16 << 20, dtype=cupy.float32))  # ALLOC
    cupy.cuda.Device().synchronize()
or_skip(lambda: (scale((1,), (64,), (here, cupy.float32(2))), cupy.cuda.Device().synchronize()))
scale((1,), (64,), (there, cupy.float32(2)))  # LAUNCH
cupy.cuda.Device().synchronize()
