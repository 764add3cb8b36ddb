"""A raw kernel takes the size of a cell as a float, and gets a float of NumPy."""
import cupy
import numpy

COUNT = cupy.RawKernel("""
extern "C" __global__ void count(const float* positions, int* bins, float cell, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&bins[(int)(positions[i] / cell)], 1);
}""", "count")

positions = cupy.full(1 << 20, 5, dtype=cupy.float32)
bins = cupy.zeros(1 << 20, dtype=cupy.int32)
for cell in (0.1, 0.25):
    COUNT((4096,), (256,), (positions, bins, numpy.float32(cell), numpy.int32(positions.size)))
    cupy.cuda.Device().synchronize()
assert int(bins.sum()) == 2 << 20
