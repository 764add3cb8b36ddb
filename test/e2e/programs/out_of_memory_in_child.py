"""A parent with exit status 1, and its child, whose last call requested more memory than there is. The child ends as
the argument says: with "0" or another status, or "killed"."""

import ctypes
import os
import signal
import subprocess
import sys

import cuda

if len(sys.argv) > 2:
    cuda.start()
    pointer = ctypes.c_uint64()
    assert cuda.driver.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(1 << 60)) == 2
    if sys.argv[1] == "killed":
        os.kill(os.getpid(), signal.SIGTERM)
    sys.exit(int(sys.argv[1]))
subprocess.run([sys.executable, __file__, sys.argv[1], "child"])
sys.exit(1)
