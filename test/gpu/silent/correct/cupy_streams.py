"""Two CuPy streams change the even and the odd elements of one array; a third one sums them after both.

No public report.
"""
import cupy

samples = cupy.ones(20_000, dtype=cupy.float32)
even, odd, last = (cupy.cuda.Stream(non_blocking=True) for _ in range(3))
cupy.cuda.Device().synchronize()
with even:
    samples[::2] *= 2
with odd:
    samples[1::2] *= 3
last.wait_event(even.record())
last.wait_event(odd.record())
with last:
    total = samples.sum()
last.synchronize()
print(float(total))
