# The test makes the recording believe that a stream has had almost 2^32 operations; then the ordinals wrap around. With
# an argument, the host waits only for events, or another stream captures meanwhile.
# Plan: fault kernel=scale nth=334 code=700
import ctypes
import mmap
import os
import struct
import sys

from driver import Driver, check, cuda, one_block

REGIONS_AT, STREAMS, ENTRY = 1024, 2, 128  # lib/wire: area.h, stream.h


def pretend(stream, operations):
    with open(os.environ["CUDADIAG_ARENA"], "r+b") as file:
        arena = mmap.mmap(file.fileno(), 0)
    areas, bytes_of_each = struct.unpack_from("<IQ", arena, 12)
    first = len(arena) - areas * bytes_of_each
    entry = first + struct.unpack_from("<Q", arena, first + REGIONS_AT + 16 * STREAMS)[0]
    while struct.unpack_from("<Q", arena, entry + 8)[0] != stream.value:
        entry += ENTRY
    struct.pack_into("<I4xII", arena, entry + 32, operations, operations, operations)


def wait_for_all():
    if "events" in sys.argv:
        check(cuda.cuEventRecord(event, stream))
        check(cuda.cuEventSynchronize(event))
    else:
        check(cuda.cuStreamSynchronize(stream))


driver = Driver()
stream, event = driver.stream(), ctypes.c_void_p()
check(cuda.cuEventCreate(ctypes.byref(event), 0))
scale = one_block(driver.kernel("scale"), stream)
cuda.cuLaunchKernel(*scale)
check(cuda.cuStreamSynchronize(stream))
if "CUDADIAG_ARENA" in os.environ:
    pretend(stream, 0xff800000 if "capture" in sys.argv else 0xffffff00)
if "capture" in sys.argv:
    other, graph = driver.stream(), ctypes.c_void_p()
    check(cuda.cuStreamBeginCapture_v2(other, 2))
    cuda.cuLaunchKernel(*scale)
    check(cuda.cuStreamEndCapture(other, ctypes.byref(graph)))
else:
    cuda.cuLaunchKernel(*scale)
    wait_for_all()
for _ in range(329):
    cuda.cuLaunchKernel(*scale)
wait_for_all()
for _ in range(4):
    cuda.cuLaunchKernel(*scale)  # TRUE LINE
check(cuda.cuStreamSynchronize(stream))  # REPORTED LINE
