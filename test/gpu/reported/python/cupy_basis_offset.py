"""An eigensolver stores its vectors in one matrix; the offset of a vector is computed with 32 bits."""
import cupy
import numpy

from here import or_skip

STORE = cupy.ElementwiseKernel("float32 u, int32 j, int32 length", "raw float32 basis",
                               "basis[i + (j + 1) * length] = u;", "store_vector")


def run(j):
    STORE(vector, numpy.int32(j), numpy.int32(vector.size), basis)  # LAUNCH
    cupy.cuda.Device().synchronize()


vector = cupy.ones(1 << 28, dtype=cupy.float32)
basis = or_skip(lambda: cupy.zeros((9, 1 << 28), dtype=cupy.float32))  # ALLOC
or_skip(lambda: run(0))
run(7)  # LAUNCH
