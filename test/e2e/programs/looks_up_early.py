"""Looks up the address of cuLaunchKernel before it initialises CUDA, where hooks cannot replace it."""

import sys

import cuda

early = cuda.driver.cuLaunchKernel
cuda.start()
stream = cuda.stream()
launch, parameters = cuda.kernel("scale")
for step in range(10):
    launch(stream, parameters, None)  # TRUE LINE
sys.exit(3 if cuda.driver.cuStreamSynchronize(stream) else 0)
