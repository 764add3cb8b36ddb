# The host changes pinned memory between two calls, before a copy has read it: `py_host_line.py WHICH [corrected]`.
# Plan: hold kernel=slow until=notify
import ctypes
import pathlib
import sys
import threading

from driver import Driver, check, cuda, one_block

SIZE = 60_000


def settle():
    """Waits until all other threads wait, such as those of the simulated driver. cuEventCreate wakes none of them."""
    own = str(threading.get_native_id())
    while any(b") S" not in each.joinpath("stat").read_bytes() for each in pathlib.Path("/proc/self/task").iterdir()
              if each.name != own):
        pass


class Stream:
    def __init__(self, driver):
        self.handle = driver.stream()

    def synchronize(self):
        check(cuda.cuStreamSynchronize(self.handle))


class HandOver:
    """Lets another thread write to the memory, while the assignment itself writes nothing."""

    def __init__(self, source):
        self.source, self.begun, self.done = source, threading.Event(), threading.Event()
        threading.Thread(target=self.write).start()

    def __setitem__(self, _, value):
        self.begun.set()
        self.done.wait()

    def write(self):
        self.begun.wait()
        self.source[:] = b"\2" * SIZE
        self.done.set()


def statement(device, source, stream, event, corrected):
    check(cuda.cuMemcpyHtoDAsync_v2(device, source, ctypes.c_size_t(SIZE), stream.handle))  # COPY LINE statement
    settle()
    check(cuda.cuEventCreate(ctypes.byref(event), 2))  # CALL LINE statement
    if corrected:
        stream.synchronize()
    source[100:1100] = b"\2" * 1000  # HOST LINE statement
    check(cuda.cuEventRecord(event, stream.handle))


def loop(device, source, stream, event, corrected):
    for step in range(3):
        if corrected:
            stream.synchronize()
        source[:1000] = bytes([step + 2]) * 1000  # HOST LINE loop
        check(cuda.cuMemcpyHtoDAsync_v2(device, source, ctypes.c_size_t(SIZE), stream.handle))  # COPY LINE loop
        settle()
        check(cuda.cuEventCreate(ctypes.byref(event), 2))


def again(device, source, stream, event, value, corrected):
    source[:1000] = bytes([value]) * 1000  # HOST LINE function
    check(cuda.cuMemcpyHtoDAsync_v2(device, source, ctypes.c_size_t(SIZE), stream.handle))  # COPY LINE function
    settle()
    check(cuda.cuEventCreate(ctypes.byref(event), 2))
    if corrected:
        stream.synchronize()


def function(device, source, stream, event, corrected):
    again(device, source, stream, event, 2, corrected)
    again(device, source, stream, event, 3, corrected)


def two_statements(device, source, stream, event, corrected):
    check(cuda.cuMemcpyHtoDAsync_v2(device, source, ctypes.c_size_t(SIZE), stream.handle))  # COPY LINE two_statements
    settle()
    check(cuda.cuEventCreate(ctypes.byref(event), 2))  # CALL LINE two_statements
    if corrected:
        stream.synchronize()
    source[100] = 2
    source[200] = 2
    check(cuda.cuEventRecord(event, stream.handle))  # RECORD LINE two_statements


def refill(source):
    source[100] = 2


def called(device, source, stream, event, corrected):
    check(cuda.cuMemcpyHtoDAsync_v2(device, source, ctypes.c_size_t(SIZE), stream.handle))  # COPY LINE called
    settle()
    check(cuda.cuEventCreate(ctypes.byref(event), 2))  # CALL LINE called
    if corrected:
        stream.synchronize()
    refill(source)
    check(cuda.cuEventRecord(event, stream.handle))  # RECORD LINE called


def thread(device, source, stream, event, corrected):
    over = HandOver(source)
    check(cuda.cuMemcpyHtoDAsync_v2(device, source, ctypes.c_size_t(SIZE), stream.handle))  # COPY LINE thread
    settle()
    check(cuda.cuEventCreate(ctypes.byref(event), 2))  # CALL LINE thread
    if corrected:
        stream.synchronize()
    over[0] = 2
    check(cuda.cuEventRecord(event, stream.handle))


def main():
    corrected = len(sys.argv) > 2
    driver = Driver()
    stream, event = Stream(driver), ctypes.c_void_p()
    check(cuda.cuEventCreate(ctypes.byref(event), 2))
    device, pinned = ctypes.c_uint64(), ctypes.c_void_p()
    check(cuda.cuMemAlloc_v2(ctypes.byref(device), ctypes.c_size_t(SIZE)))
    check(cuda.cuMemHostAlloc(ctypes.byref(pinned), ctypes.c_size_t(SIZE), 0))
    source = (ctypes.c_ubyte * SIZE).from_address(pinned.value)
    slow = driver.kernel("slow")
    check(cuda.cuCtxSynchronize())
    if not corrected:
        check(cuda.cuLaunchKernel(*one_block(slow, stream.handle)))
    globals()[sys.argv[1]](device, source, stream, event, corrected)
    cuda.sim_notify()
    check(cuda.cuCtxSynchronize())
    print("done")


main()
