"""Runs until its standard input ends. With an argument, it has requested a device before, and nothing more."""

import sys

if sys.argv[1:]:
    import cuda

    cuda.start()
print("ready", flush=True)
sys.stdin.read()
