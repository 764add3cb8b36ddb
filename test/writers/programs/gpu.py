"""The failure that all programs share. Batches 0 to 2 are correct, and later ones write or read outside their memory.

Uses PyTorch if the program has imported it and there is a GPU, and otherwise the driver through ctypes. The simulated
driver knows the kernel by its name. `launch` is a function in C, so that the call site is the program's line.
"""

import ctypes
import functools
import glob
import sys

BAD = 3
KERNEL = b"""
.version 7.0
.target sm_75
.address_size 64
.visible .entry sim_store_u32(.param .u64 place, .param .u32 value)
{
  .reg .b64 %place;
  .reg .b32 %value;
  ld.param.u64 %place, [place];
  ld.param.u32 %value, [value];
  st.u32 [%place], %value;
  ret;
}
"""


def check(code):
    if code != 0:
        raise RuntimeError(f"CUDA error {code}")


class TorchGpu:
    def __init__(self, torch):
        self.torch = torch
        self.table = torch.zeros(1000, 8, device="cuda")
        self.launch = torch.index_select
        self.wait = torch.cuda.synchronize

    def batch(self, number):
        index = 10**7 if number >= BAD else number
        return self.table, 0, self.torch.full((64,), index, device="cuda")


class Gpu:
    def __init__(self):
        self.driver = ctypes.CDLL("libcuda.so.1")
        context, module, function = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        self.memory = ctypes.c_uint64()
        check(self.driver.cuInit(0))
        check(self.driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
        check(self.driver.cuCtxSetCurrent(context))
        check(self.driver.cuMemAlloc_v2(ctypes.byref(self.memory), ctypes.c_size_t(4096)))
        check(self.driver.cuModuleLoadData(ctypes.byref(module), KERNEL))
        check(self.driver.cuModuleGetFunction(ctypes.byref(function), module, b"sim_store_u32"))
        one, zero = ctypes.c_uint(1), ctypes.c_uint(0)
        self.launch = functools.partial(self.driver.cuLaunchKernel, function, one, one, one, one, one, one, zero, None)

    def batch(self, number):
        place = ctypes.c_uint64(self.memory.value + (2**36 if number >= BAD else 4 * number))
        value = ctypes.c_uint32(number)
        parameters = (ctypes.c_void_p * 2)(*(ctypes.cast(ctypes.pointer(each), ctypes.c_void_p) for each in (place, value)))
        return parameters, None

    def wait(self):
        check(self.driver.cuCtxSynchronize())


@functools.lru_cache
def _gpu():
    torch = sys.modules.get("torch")
    return TorchGpu(torch) if torch and glob.glob("/dev/nvidia[0-9]*") else Gpu()


def __getattr__(name):
    """Initialises CUDA at the first use of `launch`, `batch` or `wait`, which is after the program's first writes."""
    if name not in ("launch", "batch", "wait"):
        raise AttributeError(name)
    return getattr(_gpu(), name)
