"""Fails, fills the pipe that is its standard error, and continues until it is asked to end."""

import fcntl
import os
import signal

import cuda

cuda.start()
launch, parameters = cuda.kernel("smooth")
stream = cuda.stream()
for _ in range(10):
    launch(stream, parameters, None)
os.write(2, b"." * fcntl.fcntl(2, fcntl.F_GETPIPE_SZ))
cuda.driver.cuStreamSynchronize(stream)
print("ready", flush=True)
signal.pause()
