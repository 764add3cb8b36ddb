"""late_runtimes.py LIBRARY...: initialises CUDA, and then opens each CUDA runtime. Each rejects the same call by itself."""
import ctypes
import sys

print(ctypes.CDLL("libcuda.so.1").cuInit(0))
for path in sys.argv[1:]:
    runtime = ctypes.CDLL(path)
    runtime.cudaFree(None)  # the runtime starts
    print(runtime.cudaSetDevice(77))
