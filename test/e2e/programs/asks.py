"""Looks up a function that its module lacks, continues to use CUDA if "on" is given, and exits with a failure."""

import ctypes
import sys

import cuda

cuda.start()
module, function = ctypes.c_void_p(), ctypes.c_void_p()
cuda.check(cuda.driver.cuModuleLoadData(ctypes.byref(module), b"image"))
code = cuda.driver.cuModuleGetFunction(ctypes.byref(function), module, b"absent")  # TRUE LINE
print("result", code, flush=True)
if "on" in sys.argv:
    cuda.check(cuda.driver.cuCtxSynchronize())
sys.exit(4)
