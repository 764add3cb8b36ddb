"""composite.py FROM: ten launches through a function that takes a different path while a mode is on, from step FROM."""

import functools
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "site-packages"))

import cuda
import torch.cuda
import torch.nn

cuda.start()
launch, parameters = cuda.kernel("smooth")
stream = cuda.stream()
smooth = functools.partial(launch, stream, parameters, None)
for step in range(10):
    torch.nn.composite(smooth, step >= int(sys.argv[1]))  # TRUE LINE
sys.exit(3 if cuda.driver.cuStreamSynchronize(stream) else 0)
