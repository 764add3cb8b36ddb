"""hangs_twice.py STUCK DUMP: hangs in the first run. In the run for a GPU core dump, it stands in for the driver: it
creates a pipe, and when something is written to the pipe, it leaves a dump and aborts."""

import os
import shutil
import sys

stuck, dump = sys.argv[1:]
if os.environ["CUDADIAG_PASS"] == "record":
    os.execv(stuck, [stuck, "kernel"])
pid = str(os.getpid())
pipe = os.environ["CUDA_COREDUMP_PIPE"].replace("%p", pid)
os.mkfifo(pipe)
with open(pipe, "rb") as asked:
    asked.read(1)
shutil.copy(dump, os.environ["CUDA_COREDUMP_FILE"].replace("%p", pid))
os.abort()
