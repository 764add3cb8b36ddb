"""A raw kernel asks for more dynamic shared memory than its attribute allows."""
import cupy

from here import or_skip

transpose = cupy.RawKernel("""
extern "C" __global__ void transpose(float* x, int n) {
  extern __shared__ float tile[];
  for (int i = threadIdx.x; i < n; i += blockDim.x) tile[i] = x[i];
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] = tile[n - 1 - i];
}""", "transpose")
x = cupy.zeros(1 << 16, dtype=cupy.float32)
or_skip(lambda: (transpose((1,), (256,), (x, cupy.int32(8192)), shared_mem=32768), cupy.cuda.Device().synchronize()))
transpose((1,), (256,), (x, cupy.int32(32768)), shared_mem=131072)  # LAUNCH
cupy.cuda.Device().synchronize()
