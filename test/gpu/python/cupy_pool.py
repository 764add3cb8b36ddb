"""CuPy's pool rejects an array that exceeds its limit."""
import sys

import cupy

try:
    cupy.get_default_memory_pool().set_limit(size=2 << 30)
    kept = cupy.empty(1 << 30, dtype=cupy.uint8)  # HOLDER
except Exception as e:
    print("CuPy does not work here:", e, file=sys.stderr)
    sys.exit(77)
try:
    cupy.empty(1600 << 20, dtype=cupy.uint8)
except cupy.cuda.memory.OutOfMemoryError:
    print("tries again with less")
scratch = cupy.empty(1500 << 20, dtype=cupy.uint8)  # TRUE LINE
print("never")
