"""cuda-bindings: the array of arguments contains the address of a host buffer instead of the one on the GPU."""
import ctypes

import numpy

from here import needs_no_pageable_access, or_skip


def start():
    from cuda.bindings import driver, nvrtc
    return driver, nvrtc


def ok(answer):
    error, *values = answer
    if int(error):
        raise RuntimeError(str(error))
    return values[0] if values else None


SOURCE = b'extern "C" __global__ void offset(const float* in, float* out, float by) { *out = *in + by; }'
driver, nvrtc = or_skip(start)
needs_no_pageable_access()
ok(driver.cuInit(0))
ok(driver.cuCtxSetCurrent(ok(driver.cuDevicePrimaryCtxRetain(0))))
program = ok(nvrtc.nvrtcCreateProgram(SOURCE, b"offset.cu", 0, [], []))
ok(nvrtc.nvrtcCompileProgram(program, 1, [b"--gpu-architecture=sm_90"]))
image = bytes(ok(nvrtc.nvrtcGetCUBINSize(program)))
ok(nvrtc.nvrtcGetCUBIN(program, image))
kernel = ok(driver.cuModuleGetFunction(ok(driver.cuModuleLoadData(image)), b"offset"))
values = numpy.ones(1 << 20, dtype=numpy.float32)
there, out = ok(driver.cuMemAlloc(values.nbytes)), ok(driver.cuMemAlloc(4096))
ok(driver.cuMemcpyHtoD(there, values.ctypes.data, values.nbytes))


def launch(address):
    arguments = (address, int(out), 1.0), (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_float)
    ok(driver.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, 0, arguments, 0))  # LAUNCH


or_skip(lambda: (launch(int(there)), ok(driver.cuCtxSynchronize())))
launch(values.ctypes.data)
ok(driver.cuCtxSynchronize())
