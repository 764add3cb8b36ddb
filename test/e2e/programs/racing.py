"""Two operations on one array of a library, on two streams. `once`: they are ordered in the rerun. `kernels`: both are
kernels."""

import ctypes
import functools
import os
import sys

import cuda

SIZE = 1 << 20


class Array:
    def __init__(self):
        pointer = ctypes.c_uint64()
        cuda.check(cuda.driver.cuMemAlloc_v2(ctypes.byref(pointer), SIZE))
        self.pointer = pointer

    @property
    def __cuda_array_interface__(self):
        return {"shape": (SIZE // 4,), "typestr": "<f4", "data": (self.pointer.value, False), "version": 3}


def main():
    cuda.start()
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    cuda.check(cuda.driver.cuModuleLoadData(ctypes.byref(module), b".version 6.0\n.target sm_50\n.address_size 64\n"))
    cuda.check(cuda.driver.cuModuleGetFunction(ctypes.byref(function), module, b"use__8"))
    first, second, x, fill = cuda.stream(), cuda.stream(), Array(), cuda.driver.cuMemsetD8Async
    parameters = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.pointer(x.pointer), ctypes.c_void_p))
    one, zero = ctypes.c_uint(1), ctypes.c_uint(0)
    launch = functools.partial(cuda.driver.cuLaunchKernel, function, one, one, one, one, one, one, zero)
    rerun = os.environ["CUDADIAG_PASS"] == "races"
    for _ in range(100):
        if "kernels" in sys.argv:
            launch(first, parameters, None if x else x)
        else:
            fill(x.pointer, ctypes.c_ubyte(1), ctypes.c_size_t(SIZE), first)  # FIRST LINE
        if rerun and "once" in sys.argv:
            cuda.driver.cuStreamSynchronize(first)
        launch(second, parameters, None if x else x)  # THEN LINE
        cuda.driver.cuCtxSynchronize()
    print("done")


main()
