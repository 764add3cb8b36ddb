"""Uses CUDA, then executes another program, which fails: one process id for two programs."""

import os
import pathlib
import sys

import cuda

cuda.start()
launch, parameters = cuda.kernel("smooth")
cuda.check(launch(None, parameters, None))
cuda.check(cuda.driver.cuCtxSynchronize())
os.execv(sys.executable, [sys.executable, pathlib.Path(__file__).with_name("ten_launches.py")])
