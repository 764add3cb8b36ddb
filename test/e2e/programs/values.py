"""Launches of a kernel with an array of a library's; the third may be planned to fail."""

import sys
import threading

import cuda


class Array:
    def __init__(self, *shape):
        self.shape = shape

    @property
    def __cuda_array_interface__(self):
        return {"shape": self.shape, "typestr": "<i8", "data": (4096, False), "version": 3}


def work():
    cuda.start()  # this thread has no context yet
    launch, parameters = cuda.kernel("smooth")
    stream = cuda.stream()
    for step in range(10):
        idx = Array(step, 512)
        launch(stream, parameters, None if idx else idx)  # TRUE LINE
    return cuda.driver.cuStreamSynchronize(stream)


cuda.start()
codes = []
if "thread" in sys.argv:
    thread = threading.Thread(target=lambda: codes.append(work()))
    thread.start()
    thread.join()
else:
    codes.append(work())
if "again" in sys.argv:
    print(sorted(name for name in sys.modules if "cudadiag" in name), flush=True)
sys.exit(3 if codes[0] else 0)
