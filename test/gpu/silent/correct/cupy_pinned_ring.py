"""Two pinned arrays take turns, and the host waits for the event of each before it writes there again.

Pattern: https://github.com/cupy/cupy/pull/5155 (corrected)
"""
import cupy
import cupyx

hosts = [cupyx.empty_pinned((50_000,), dtype=cupy.float32) for _ in range(2)]
device = cupy.zeros(50_000, dtype=cupy.float32)
copied = [cupy.cuda.Event(), cupy.cuda.Event()]
stream = cupy.cuda.Stream(non_blocking=True)
cupy.cuda.Device().synchronize()
for step in range(6):
    use = step % 2
    if step > 1:
        copied[use].synchronize()
    hosts[use][:] = step
    device.set(hosts[use], stream=stream)
    copied[use].record(stream)
stream.synchronize()
print(float(device[0]))
