"""Puts batches into shared memory, as a data loader does. Prints how many fit, then fails. With an argument, it also
writes a batch that does not fit, which causes a bus error."""

import itertools
import mmap
import os
import sys

import cuda

BATCH = 4 << 20

cuda.start()
launch, parameters = cuda.kernel("smooth")
bad, _ = cuda.kernel("bad")
stream = cuda.stream()
for number in itertools.count():
    file = os.open(f"/dev/shm/batch-{number}", os.O_RDWR | os.O_CREAT | os.O_EXCL)
    try:
        os.posix_fallocate(file, 0, BATCH)
    except OSError:
        break
    mmap.mmap(file, BATCH)[:] = bytes(BATCH)
    launch(stream, parameters, None)
print(number, "batches", flush=True)
if len(sys.argv) > 1:
    os.ftruncate(file, BATCH)
    mmap.mmap(file, BATCH)[:] = bytes(BATCH)
bad(stream, parameters, None)  # TRUE LINE
sys.exit(3 if cuda.driver.cuStreamSynchronize(stream) else 0)
