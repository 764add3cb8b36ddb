"""A CuPy kernel spins on a flag that a kernel on the same stream would set after it. The kernel gives up after about 8
s.

Related: https://github.com/flagos-ai/FlagTree/issues/1051 (blocks that spin until others arrive)
"""
import cupy

wait_for = cupy.RawKernel(
    r"""extern "C" __global__ void wait_for(const volatile int* flag, long long most) {
          for (long long start = clock64(); *flag == 0 && clock64() - start < most;) {}
        }""", "wait_for")
flag = cupy.ones(1, dtype=cupy.int32)
most = cupy.int64(8000 * cupy.cuda.Device().attributes["ClockRate"])
stream = cupy.cuda.Stream(non_blocking=True)
cupy.cuda.Device().synchronize()
with stream:
    wait_for((1,), (1,), (flag, most))
    flag.fill(0)
    stream.synchronize()
    wait_for((1,), (1,), (flag, most))  # STUCK
    flag.fill(1)
stream.synchronize()  # WAITS
print(int(flag[0]))
