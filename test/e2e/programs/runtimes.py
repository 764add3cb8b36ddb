"""runtimes.py OTHER: uses the simulated runtime, and then the runtime OTHER. After each, prints whether any callback
reports the launches."""
import ctypes
import sys

LAUNCH = 211  # CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000
SWITCHES = 16 + 1024  # the offset of the runtime's switches in hooks.h

cuda = ctypes.CDLL("libcuda.so.1")
cuda.sim_hooks.restype = ctypes.c_void_p
for library in ("libcudart.so.13", sys.argv[1]):
    ctypes.CDLL(library).cudaFree(None)
    wanted = ctypes.string_at(cuda.sim_hooks() + SWITCHES + LAUNCH, 1)[0]
    print("launches of the runtime", "heard" if wanted else "left out", flush=True)
