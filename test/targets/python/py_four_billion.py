# A stream that has been given 2^32 operations but a few, or so its recording is told; then they come round.
# Plan: fault kernel=scale nth=35 code=700
import mmap
import os
import struct

from driver import Driver, check, cuda, one_block

AREA_AT, REGIONS_AT, STREAMS, ENTRY = 4096, 1024, 2, 128  # lib/wire: arena.h, area.h, stream.h


def pretend(stream, operations):
    with open(os.environ["CUDADIAG_ARENA"], "r+b") as file:
        arena = mmap.mmap(file.fileno(), 0)
    entry = AREA_AT + struct.unpack_from("<Q", arena, AREA_AT + REGIONS_AT + 16 * STREAMS)[0]
    while struct.unpack_from("<Q", arena, entry + 8)[0] != stream.value:
        entry += ENTRY
    struct.pack_into("<I4xII", arena, entry + 32, operations, operations, operations)


driver = Driver()
stream = driver.stream()
scale = one_block(driver.kernel("scale"), stream)
cuda.cuLaunchKernel(*scale)
check(cuda.cuStreamSynchronize(stream))
if "CUDADIAG_ARENA" in os.environ:
    pretend(stream, 0xfffffff0)
cuda.cuLaunchKernel(*scale)
check(cuda.cuStreamSynchronize(stream))
for _ in range(30):
    cuda.cuLaunchKernel(*scale)
check(cuda.cuStreamSynchronize(stream))
for _ in range(4):
    cuda.cuLaunchKernel(*scale)  # TRUE LINE
check(cuda.cuStreamSynchronize(stream))  # REPORTED LINE
