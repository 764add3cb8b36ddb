"""The first kernel finishes only after a later one on another stream, as collective operations do."""

import sys

import cuda

cuda.start()
waiting, parameters = cuda.kernel("waiting")
bad, _ = cuda.kernel("bad")
first, second = cuda.stream(), cuda.stream()
waiting(first, parameters, None)
for step in range(2):
    bad(second, parameters, None)
sys.exit(3 if cuda.driver.cuCtxSynchronize() else 0)
