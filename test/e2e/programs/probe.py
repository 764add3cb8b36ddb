"""Ten launches, the third of which may be planned to fail. Its arguments select what else it does."""

import os
import sys

import cuda

RERUN = os.environ.get("CUDADIAG_PASS") == "confirm"


def start_sleeper():
    """Starts a process that outlives this one, in a separate session."""
    import subprocess

    sleeper = subprocess.Popen(["sleep", "1000"], start_new_session=True, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    print("sleeper", sleeper.pid, flush=True)


if "tells" in sys.argv:
    print(os.environ.get("CUDADIAG_PASS"), os.environ.get("WANDB_MODE"), flush=True)
if "reads" in sys.argv:
    print("read", sys.stdin.read(), flush=True)
if "writes" in sys.argv:
    with open("result.txt", "w") as file:
        file.write("result\n")
if "sleeper" in sys.argv:
    start_sleeper()
if "rerun-hangs" in sys.argv and RERUN:
    import signal

    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print("hanging", flush=True)
    while True:
        signal.pause()

cuda.start()
launch, parameters = cuda.kernel("smooth")
stream = cuda.stream()
for step in range(10):
    launch(stream, parameters, None)  # TRUE LINE
sys.exit(3 if cuda.driver.cuStreamSynchronize(stream) else 0)
