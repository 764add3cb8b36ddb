"""A raw kernel in CuPy gets the number of edges but needs the number of cells: it writes one element past the end.

Related: https://github.com/boostorg/compute/pull/772
"""
import sys

import cupy

cupy.cuda.set_allocator(None)  # each array is a separate allocation
corrected = len(sys.argv) > 1
cell_widths = cupy.RawKernel(
    r"""extern "C" __global__ void cell_widths(double* widths, int count) {
          int i = blockIdx.x * blockDim.x + threadIdx.x;
          if (i < count) widths[i] = 0.5 * i;
        }""", "cell_widths")
edges = 1601
widths = cupy.empty(edges - 1, dtype=cupy.float64)  # ALLOC
count = edges - 1 if corrected else edges
cell_widths((7,), (256,), (widths, cupy.int32(count)))  # OUT
cupy.cuda.Device().synchronize()
print(widths[1])
