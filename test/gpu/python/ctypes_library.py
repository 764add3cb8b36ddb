"""A CUDA library called through ctypes, without any framework: ctypes_library.py LIBRARY"""
import ctypes
import sys

library = ctypes.CDLL(sys.argv[1])
library.smooth_step.argtypes = [ctypes.c_long]


def smooth(offset):
    library.smooth_step(offset)  # CALLER


library.smooth_open()
smooth(32)
smooth(1 << 40)
smooth(64)
print("status", library.smooth_finish())
sys.exit(1)
