"""The driver API through ctypes. The programs call the driver's functions directly, so that the frame that issues an
operation is the program's."""

import ctypes
import functools
import os
import sys

driver = ctypes.CDLL("libcuda.so.1")


def check(code):
    if code != 0:
        sys.exit(f"CUDA error {code}")


def start():
    """Makes a context on the first device current."""
    check(driver.cuInit(0))
    context = ctypes.c_void_p()
    check(driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
    check(driver.cuCtxSetCurrent(context))


def allocate_as_pytorch_does():
    """Allocates through a library that has the name of PyTorch's allocator, if the test has put it into the folder."""
    library = os.path.abspath("libc10_cuda.so")
    if os.path.exists(library):
        check(ctypes.CDLL(library).fake_allocate(ctypes.c_size_t(64)))


def stream():
    handle = ctypes.c_void_p()
    check(driver.cuStreamCreate(ctypes.byref(handle), 1))
    return handle


def kernel(name, threads=1, code=b".version 6.0\n.target sm_50\n.address_size 64\n"):
    """Returns (launch, parameters): launch(stream, parameters, None) runs the kernel in one block of threads."""
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    check(driver.cuModuleLoadData(ctypes.byref(module), code))
    check(driver.cuModuleGetFunction(ctypes.byref(function), module, name.encode()))
    parameters = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.pointer(ctypes.c_int(0)), ctypes.c_void_p))
    one, zero = ctypes.c_uint(1), ctypes.c_uint(0)
    return functools.partial(driver.cuLaunchKernel, function, one, one, one, ctypes.c_uint(threads), one, one, zero), parameters
