"""Fills the disk that holds its recording, and fails. Before that, it launches until the full log, if there is one, has
reached a MiB."""

import os
import pathlib
import sys

import cuda

SESSION = pathlib.Path(os.environ.get("CUDADIAG_SESSION", "/nowhere"))
LOG = SESSION / f"{os.getpid()}.log"


def fill(file):
    while True:
        try:
            os.write(file, bytes(64 << 10))
        except OSError:
            return


cuda.start()
launch, parameters = cuda.kernel("smooth")
bad, _ = cuda.kernel("bad")
stream = cuda.stream()
launch(stream, parameters, None)
while "logged" in sys.argv and SESSION.exists() and (not LOG.exists() or LOG.stat().st_size < 1 << 20):
    for _ in range(1000):
        launch(stream, parameters, None)
if SESSION.exists():
    fill(os.open(SESSION.parent.parent / "full", os.O_WRONLY | os.O_CREAT))
cuda.check(cuda.driver.cuStreamSynchronize(stream))
bad(stream, parameters, None)  # TRUE LINE
code = cuda.driver.cuStreamSynchronize(stream)
print("result", code, flush=True)
sys.exit(3 if code else 0)
