"""PyTorch's allocator rejects a request because of its limit, and no CUDA call fails: refuses.py fails|caught [late]"""

import ctypes
import os
import pathlib
import sys

import cuda

torch = pathlib.Path(os.environ["LD_LIBRARY_PATH"]).parent / "targets/torch/lib"


class OutOfMemoryError(RuntimeError):
    pass


def load():
    return ctypes.CDLL(torch / "libc10_cuda.so")


def allocate(mib):
    if allocator.allocate(ctypes.c_long(mib << 20), ctypes.c_long(3 << 30)):  # TRUE LINE
        raise OutOfMemoryError(f"tried to allocate {mib} MiB")


if sys.argv[2:] != ["late"]:
    allocator = load()
cuda.start()
if sys.argv[2:] == ["late"]:
    allocator = load()
launch, parameters = cuda.kernel("fill")
stream = cuda.stream()
cuda.check(launch(stream, parameters, None))
allocate(100)
try:
    allocate(5000)
except OutOfMemoryError:
    if sys.argv[1] == "fails":
        raise
    allocate(50)
    cuda.check(launch(stream, parameters, None))
cuda.check(cuda.driver.cuCtxSynchronize())
sys.exit(3)
