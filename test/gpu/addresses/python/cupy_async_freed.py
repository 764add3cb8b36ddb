"""Like cupy_freed.py, with the driver's stream-ordered allocator."""
import cupy

from here import or_skip

pool = or_skip(lambda: cupy.cuda.MemoryAsyncPool())
cupy.cuda.set_allocator(pool.malloc)
step = cupy.RawKernel('extern "C" __global__ void step(float* x) { x[threadIdx.x] += 1; }', "step")
x = cupy.zeros(32 << 20, dtype=cupy.float32)  # ALLOC
address = cupy.intp(x.data.ptr)
or_skip(lambda: (step((1,), (64,), (address,)), cupy.cuda.Device().synchronize()))
del x  # FREED
cupy.cuda.Device().synchronize()
pool.free_all_blocks()
step((1,), (64,), (address,))  # LAUNCH
cupy.cuda.Device().synchronize()
