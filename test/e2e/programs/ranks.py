"""Two ranks and their parent. One rank has unfinished work when the other ends with an exception, or, with "alone",
ends after it. The parent then ends the remaining rank."""

import os
import subprocess
import sys

import cuda

if len(sys.argv) < 3:
    start = [sys.executable, __file__, *sys.argv[1:]]
    alone = "alone" in sys.argv
    with subprocess.Popen([*start, "waits"], stdout=subprocess.PIPE) as waiting:
        waiting.stdout.readline()  # until that rank is working
        if alone:
            waiting.kill()
            waiting.wait()
        with subprocess.Popen([*start, "raises"], stdin=subprocess.PIPE) as raising:
            raising.wait()
        waiting.terminate()
    sys.exit(1)
cuda.start()
launch, parameters = cuda.kernel("stuck" if sys.argv[2] == "waits" else "smooth")
stream = cuda.stream()
launch(stream, parameters, None)
if sys.argv[2] == "raises":
    cuda.driver.cuStreamSynchronize(stream)
    raise ValueError("no more data")
os.write(1, b"at work\n")
cuda.driver.cuStreamSynchronize(stream)
