"""Ten launches on one stream. The third may be planned to fail. The error appears at the synchronisation."""

import os
import sys

import cuda

if "block-early" in sys.argv:
    os.environ["CUDA_LAUNCH_BLOCKING"] = "1"
cuda.start()
if "block-late" in sys.argv:
    os.environ["CUDA_LAUNCH_BLOCKING"] = "1"
launch, parameters = cuda.kernel("smooth")
stream = cuda.stream()
for step in range(10):
    code = launch(stream, parameters, None)  # TRUE LINE
code = cuda.driver.cuStreamSynchronize(stream)
print("result", code, flush=True)
print("on stderr", file=sys.stderr, flush=True)
if "wait" in sys.argv:
    sys.stdin.read()
if "kill" in sys.argv:
    import signal

    os.kill(os.getpid(), signal.SIGKILL)
sys.exit(3 if code else 0)
