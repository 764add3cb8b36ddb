"""What the Python targets share: libcuda through ctypes, which releases the GIL for each call.

Each target calls the launch function itself, so that the issuing line is in the target.
"""
import ctypes

cuda = ctypes.CDLL("libcuda.so.1")


def check(result):
    if result != 0:
        raise RuntimeError(f"CUDA error {result}")


class Driver:
    def __init__(self):
        self.context = ctypes.c_void_p()
        self.module = ctypes.c_void_p()
        check(cuda.cuInit(0))
        check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(self.context), 0))
        check(cuda.cuCtxSetCurrent(self.context))
        check(cuda.cuModuleLoadData(ctypes.byref(self.module), b"target"))

    def kernel(self, name):
        function = ctypes.c_void_p()
        check(cuda.cuModuleGetFunction(ctypes.byref(function), self.module, name.encode()))
        return function

    def stream(self):
        made = ctypes.c_void_p()
        check(cuda.cuStreamCreate(ctypes.byref(made), 1))
        return made


def one_block(kernel, stream):
    """Returns the arguments of cuLaunchKernel for one block of 32 threads."""
    return (kernel, 1, 1, 1, 32, 1, 1, 0, stream, None, None)
