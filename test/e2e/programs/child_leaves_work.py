"""A child that ends with unfinished work, and then a parent that waits for a kernel that never finishes."""

import os
import subprocess
import sys

import cuda

is_child = len(sys.argv) > 1
if not is_child:
    subprocess.run([sys.executable, __file__, "child"], check=True)
cuda.start()
launch, parameters = cuda.kernel("stuck")
stream = cuda.stream()
launch(stream, parameters, None)  # TRUE LINE
if is_child:
    os._exit(0)
cuda.driver.cuStreamSynchronize(stream)
