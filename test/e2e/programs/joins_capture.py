"""A second stream joins a capture, and leaves it. The kernel of the first stream fails when the graph is replayed."""

import ctypes
import sys

import cuda

cuda.start()
driver, check = cuda.driver, cuda.check
first, second = cuda.stream(), cuda.stream()
forked, joined = ctypes.c_void_p(), ctypes.c_void_p()
graph, executable = ctypes.c_void_p(), ctypes.c_void_p()
for event in forked, joined:
    check(driver.cuEventCreate(ctypes.byref(event), 2))
bad, parameters = cuda.kernel("scale")
good, _ = cuda.kernel("smooth")
check(driver.cuStreamBeginCapture_v2(first, 2))
bad(first, parameters, None)  # TRUE LINE
check(driver.cuEventRecord(forked, first))
check(driver.cuStreamWaitEvent(second, forked, 0))
good(second, parameters, None)
check(driver.cuEventRecord(joined, second))
check(driver.cuStreamWaitEvent(first, joined, 0))
check(driver.cuStreamEndCapture(first, ctypes.byref(graph)))
check(driver.cuGraphInstantiateWithFlags(ctypes.byref(executable), graph, ctypes.c_ulonglong(0)))
check(driver.cuGraphLaunch(executable, first))
sys.exit(3 if driver.cuStreamSynchronize(first) else 0)
