"""Lies on a file server (silent_server.py), which it makes silent before its third launch fails."""

import os
import sys

import cuda

cuda.start()
launch, parameters = cuda.kernel("smooth")
stream = cuda.stream()
os.path.exists(os.path.join(os.path.dirname(__file__), "silence"))
for step in range(10):
    launch(stream, parameters, None)  # TRUE LINE
sys.exit(3 if cuda.driver.cuStreamSynchronize(stream) else 0)
