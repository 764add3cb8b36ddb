"""Runs until its standard input ends. With an argument, it first requests a device, and nothing more."""

import sys

if sys.argv[1:]:
    import cuda

    cuda.start()
print("ready", flush=True)
sys.stdin.read()
