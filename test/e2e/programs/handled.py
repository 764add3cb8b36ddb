"""Requests more memory than there is, takes less, and continues. It is a correct program."""

import ctypes

import cuda

cuda.start()
pointer = ctypes.c_uint64()
assert cuda.driver.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(1 << 60)) == 2
cuda.check(cuda.driver.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(1 << 10)))
launch, parameters = cuda.kernel("smooth")
cuda.check(launch(None, parameters, None))
cuda.check(cuda.driver.cuCtxSynchronize())
print("done")
