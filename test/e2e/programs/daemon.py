"""Stays until its standard input ends; with an argument it has asked for a device before, and for nothing more."""

import sys

if sys.argv[1:]:
    import cuda

    cuda.start()
print("ready", flush=True)
sys.stdin.read()
