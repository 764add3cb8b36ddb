"""A pid file that the failure leaves. The next start refuses unless that process has ended."""
import os
import pathlib
import sys

import gpu

file = pathlib.Path.home() / ".trainer.pid"
try:
    with open(file, "x") as new:
        new.write(str(os.getpid()))
except FileExistsError:
    if pathlib.Path(f"/proc/{file.read_text()}").exists():
        sys.exit("already running")
    file.write_text(str(os.getpid()))
gpu.launch(*gpu.batch(3))  # TRUE LINE
gpu.wait()
