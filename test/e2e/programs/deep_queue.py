"""A long queue on one stream fails in the middle, after launches on another stream have overwritten the whole ring of
the recording. With an argument, it waits now and then until the full log has everything."""

import os
import pathlib
import sys
import time

import cuda

LOG = pathlib.Path(os.environ.get("CUDADIAG_SESSION", "/nowhere")) / f"{os.getpid()}.log"


def numbers(data):
    value = shift = 0
    for byte in data:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            yield value
            value = shift = 0


def logged():
    """Returns the number of operations in the full log, see cudadiag-session(5). Its last item may be incomplete."""
    records, items = 0, numbers(LOG.read_bytes()[24:] if LOG.exists() else b"")
    try:
        for key in items:
            if key == 0:
                what, count = next(items), next(items)
                for _ in range(1 if what == 1 else count):
                    next(items)
            else:
                next(items)
                for _ in range(bin(next(items)).count("1")):
                    next(items)
                records += 1
    except StopIteration:
        pass
    return records


cuda.start()
slow_launch, parameters = cuda.kernel("slow")
busy_launch, _ = cuda.kernel("busy")
slow, busy = cuda.stream(), cuda.stream()
bad_launch, _ = cuda.kernel("bad")
for step in range(40):
    slow_launch(slow, parameters, None)
    if step == 28:
        bad_launch(slow, parameters, None)  # TRUE LINE
for step in range(6000):
    busy_launch(busy, parameters, None)
    if step % 1000 == 999 and len(sys.argv) > 1:
        while logged() < step:
            time.sleep(0.01)
cuda.check(cuda.driver.cuStreamSynchronize(busy))
busy_launch(busy, parameters, None)  # after this launch, the slow stream begins
sys.exit(3 if cuda.driver.cuCtxSynchronize() else 0)
