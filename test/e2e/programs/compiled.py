"""A library launches on two streams, and takes a different path through its own code in reruns. The bad launch on the
second stream stops the first stream, too."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "site-packages"))

import compiler
import cuda

cuda.start()
launch, parameters = cuda.kernel("healthy")
bad_launch, _ = cuda.kernel("faulty")
first, second = cuda.stream(), cuda.stream()
for step in range(5):
    compiler.run(launch, first, parameters, None)
    compiler.run(bad_launch, second, parameters, None)  # TRUE LINE
sys.exit(1 if cuda.driver.cuCtxSynchronize() else 0)
