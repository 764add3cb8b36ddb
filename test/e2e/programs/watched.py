"""Issues launches, the third of which sometimes fails."""

import sys

import cuda

cuda.start()
launch, parameters = cuda.kernel("smooth")
stream = cuda.stream()
name = "a text is not index-like"
for step in range(10):
    row = 100 * step
    launch(stream, parameters, None if row or name else row)  # TRUE LINE
sys.exit(3 if cuda.driver.cuStreamSynchronize(stream) else 0)
