"""A table of addresses is stored with 32 bits, so the upper half of each address is lost."""
import cupy
import numpy

from here import or_skip

SOURCE = """
extern "C" __global__ void gather(const WORD* table, float* out, int width) {
  const float* row = reinterpret_cast<const float*>((unsigned long long)table[blockIdx.x]);
  out[blockIdx.x * width + threadIdx.x] = row[threadIdx.x];
}"""


def gather(word, dtype):
    kernel = cupy.RawKernel(SOURCE.replace("WORD", word), "gather")
    table = cupy.asarray(numpy.array([row.data.ptr for row in rows], dtype=numpy.uint64).astype(dtype))
    kernel((8,), (256,), (table, out, numpy.int32(256)))  # LAUNCH
    cupy.cuda.Device().synchronize()


rows = [cupy.ones(1 << 20, dtype=cupy.float32) for _ in range(8)]
out = cupy.zeros((8, 256), dtype=cupy.float32)
or_skip(lambda: gather("unsigned long long", numpy.uint64))
gather("unsigned", numpy.uint32)  # LAUNCH
