"""Launches from a stack of 16 Python frames. Prints the median CPU time per launch of the launching thread, in ns."""
import ctypes
import statistics
import time

FRAMES = 16
LAUNCHES = 256  # per round; fewer than the simulated stream's queue holds
ROUNDS = 200

cuda = ctypes.CDLL("libcuda.so.1")


def check(code):
    if code != 0:
        raise RuntimeError(f"CUDA error {code}")


def launches(kernel, frames):
    if frames > 1:
        return launches(kernel, frames - 1)
    launch = cuda.cuLaunchKernel
    begin = time.thread_time_ns()
    for _ in range(LAUNCHES):
        launch(kernel, 1, 1, 1, 32, 1, 1, 0, None, None, None)
    return (time.thread_time_ns() - begin) / LAUNCHES


def main():
    context, module, kernel = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    check(cuda.cuInit(0))
    check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
    check(cuda.cuCtxSetCurrent(context))
    check(cuda.cuModuleLoadData(ctypes.byref(module), b"bench"))
    check(cuda.cuModuleGetFunction(ctypes.byref(kernel), module, b"empty"))
    rounds = []
    for _ in range(ROUNDS):
        rounds.append(launches(kernel, FRAMES))
        check(cuda.cuCtxSynchronize())
    print("ns", statistics.median(rounds))


main()
