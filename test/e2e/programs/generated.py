"""Ten launches by code that a library generated. The third may be planned to fail."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "site-packages"))

import cuda
import generator

propagate = generator.written("propagate", "def propagate(launch, *arguments):\n    launch(*arguments)\n")
cuda.start()
launch, parameters = cuda.kernel("smooth")
stream = cuda.stream()
for step in range(10):
    generator.call(propagate, launch, stream, parameters, None)  # TRUE LINE
sys.exit(3 if cuda.driver.cuStreamSynchronize(stream) else 0)
