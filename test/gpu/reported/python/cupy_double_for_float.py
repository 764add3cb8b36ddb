"""A raw kernel takes the size of a cell as a float, and gets a number of Python, which is a double."""
import cupy
import numpy

from here import or_skip

COUNT = cupy.RawKernel("""
extern "C" __global__ void count(const float* positions, int* bins, float cell, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&bins[(int)(positions[i] / cell)], 1);
}""", "count")


def run(cell):
    COUNT((4096,), (256,), (positions, bins, cell, numpy.int32(positions.size)))  # LAUNCH
    cupy.cuda.Device().synchronize()


positions = cupy.full(1 << 20, 5, dtype=cupy.float32)
bins = cupy.zeros(16 << 20, dtype=cupy.int32)  # ALLOC
or_skip(lambda: run(numpy.float32(0.1)))
run(0.1)
