"""The bad launch is on the second stream. It also stops the first stream."""

import sys

import cuda

cuda.start()
launch, parameters = cuda.kernel("healthy")
bad_launch, _ = cuda.kernel("faulty")
first, second = cuda.stream(), cuda.stream()
for step in range(5):
    launch(first, parameters, None)
    bad_launch(second, parameters, None)  # TRUE LINE
sys.exit(1 if cuda.driver.cuCtxSynchronize() else 0)
