"""The address of a NumPy array is passed to a kernel."""
import cupy
import numpy

from here import needs_no_pageable_access, or_skip

negate = cupy.RawKernel(
    'extern "C" __global__ void negate(float* x) { x[threadIdx.x] = -x[threadIdx.x]; }', "negate")
needs_no_pageable_access()
there, here = cupy.ones(1024, dtype=cupy.float32), numpy.ones(1 << 20, dtype=numpy.float32)
or_skip(lambda: (negate((1,), (64,), (there,)), cupy.cuda.Device().synchronize()))
negate((1,), (64,), (numpy.intp(here.ctypes.data),))  # LAUNCH
cupy.cuda.Device().synchronize()
