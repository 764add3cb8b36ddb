"""A parent that uses CUDA without an error, and its child, which fails."""

import pathlib
import subprocess
import sys

import cuda

cuda.start()
ten_launches = pathlib.Path(__file__).with_name("ten_launches.py")
sys.exit(subprocess.run([sys.executable, ten_launches]).returncode)
