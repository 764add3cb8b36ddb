"""A function captures a kernel for a local array and returns the graph; the array is gone after the return."""
import cupy
import numpy

from here import or_skip

SCALE = cupy.RawKernel("""
extern "C" __global__ void scale(float* x, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) x[i] *= 0.5f;
}""", "scale")


def build(stream):
    x = cupy.ones(16 << 20, dtype=cupy.float32)  # ALLOC
    arguments = (x, numpy.int32(x.size))
    SCALE((256,), (256,), arguments)
    cupy.cuda.Device().synchronize()
    with stream:
        stream.begin_capture()
        SCALE((256,), (256,), arguments)  # LAUNCH
        graph = stream.end_capture()
    graph.launch(stream=stream)
    stream.synchronize()
    return graph  # FREED


stream = cupy.cuda.Stream(non_blocking=True)
graph = or_skip(lambda: build(stream))
cupy.get_default_memory_pool().free_all_blocks()  # FREED
graph.launch(stream=stream)  # LAUNCH
stream.synchronize()
