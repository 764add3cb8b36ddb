"""A parent, and its child, whose last call requested more memory than there is. The child ends as the first argument
says: with "0" or another status, "raises", or "killed". The parent ends with the status of the second argument."""

import ctypes
import os
import signal
import subprocess
import sys

import cuda

if len(sys.argv) > 3:
    cuda.start()
    pointer = ctypes.c_uint64()
    assert cuda.driver.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(1 << 60)) == 2
    if sys.argv[1] == "raises":
        raise MemoryError("no memory on the GPU")
    if sys.argv[1] == "killed":
        os.kill(os.getpid(), signal.SIGTERM)
    sys.exit(int(sys.argv[1]))
subprocess.run([sys.executable, __file__, *sys.argv[1:], "child"])
sys.exit(int(sys.argv[2]))
