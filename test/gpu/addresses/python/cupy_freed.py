"""CuPy's pool frees its blocks, but a kernel still uses an address in one of them."""
import cupy

from here import or_skip

step = cupy.RawKernel('extern "C" __global__ void step(float* x) { x[threadIdx.x] += 1; }', "step")
x = cupy.zeros(32 << 20, dtype=cupy.float32)  # ALLOC
address = cupy.intp(x.data.ptr)
or_skip(lambda: (step((1,), (64,), (address,)), cupy.cuda.Device().synchronize()))
del x  # FREED
cupy.get_default_memory_pool().free_all_blocks()  # FREED
step((1,), (64,), (address,))  # LAUNCH
cupy.cuda.Device().synchronize()
