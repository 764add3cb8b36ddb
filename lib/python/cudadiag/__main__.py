"""python -m cudadiag: runs the command `cudadiag`."""

import os
import sys

from .command import find_command

path = find_command()
os.execv(path, [path, *sys.argv[1:]])
