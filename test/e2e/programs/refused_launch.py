"""A launch is refused. Without an argument, the program makes it through ctypes, and looks at the code, which it expects.
With a library as its argument, the library makes it, and nobody looks at the code."""

import ctypes
import sys

import cuda

cuda.start()
if len(sys.argv) > 1:
    ctypes.CDLL(sys.argv[1]).smooth(cuda.stream())
else:
    launch, parameters = cuda.kernel("smooth", 2048)
    print("refused:", launch(None, parameters, None))
cuda.check(cuda.driver.cuCtxSynchronize())
