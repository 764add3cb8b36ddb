# A result is read during a capture; the last line of the traceback is the end of the capture.
import ctypes

from driver import Driver, check, cuda, one_block


class Graph:
    def __init__(self, stream):
        self.stream = stream
        self.graph = ctypes.c_void_p()

    def __enter__(self):
        check(cuda.cuStreamBeginCapture_v2(self.stream, 0))  # CAPTURE LINE

    def __exit__(self, *_):
        check(cuda.cuStreamEndCapture(self.stream, ctypes.byref(self.graph)))  # REPORTED LINE


def item(stream):
    check(cuda.cuStreamSynchronize(stream))  # TRUE LINE


driver = Driver()
stream = driver.stream()
kernel = driver.kernel("scale")
with Graph(stream):
    check(cuda.cuLaunchKernel(*one_block(kernel, stream)))
    item(stream)
print("done")
